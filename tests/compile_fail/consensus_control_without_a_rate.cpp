// expect-error: gossip: this consensus controller decides by the learning rate of a step
#include <span>

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/ring.hpp"

struct silent {
    struct state {
        void begin_step(const sotto::step_info&, std::span<const float>) {}
        void update(const sotto::tensor&, std::span<float>, std::span<const float>) noexcept {}
    };
    state bind(const sotto::layout&) const { return {}; }
};

const sotto::gossip misuse{silent{}, sotto::topologies::ring{}, sotto::consensus_control{}};
