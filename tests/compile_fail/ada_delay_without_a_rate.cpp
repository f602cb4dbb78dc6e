// expect-error: parameter_server: this compensator needs the learning rate of a step
#include <span>

#include "sotto/staleness/ada_delay.hpp"
#include "sotto/strategies/parameter_server.hpp"

struct silent {
    struct state {
        void begin_step(const sotto::step_info&, std::span<const float>) {}
        void update(const sotto::tensor&, std::span<float>, std::span<const float>) noexcept {}
    };
    state bind(const sotto::layout&) const { return {}; }
};

const sotto::parameter_server misuse{silent{}, sotto::asynchronous{}, sotto::ada_delay{}};
