#include <doctest/doctest.h>

#include <string>
#include <tuple>

#include "golden/lines.hpp"
#include "sotto/checkpoint/detail/former_names.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/sotto.hpp"
#include "support/all_policies.hpp"

using namespace sotto;

namespace {

/// What checkpoints and logs say of these options, one after the other.
class texts {
public:
    template <class... Options>
    void of(const Options&... options) {
        (one(options), ...);
    }
    const std::string& all() const { return all_; }

private:
    template <class Options>
    void one(const Options& options) {
        detail::description text;
        all_ += text.add("strategy", options).text() + "\n";
    }

    std::string all_;
};

template <class Exchange>
Exchange in(const char* folder) {
    Exchange made;
    made.folder = folder;
    return made;
}

}  // namespace

// The file has the texts of commit 3f09fcb5. A name that changes since belongs in former_names.ipp;
// a line that changes makes older checkpoints those of another configuration.
TEST_CASE("configurations: texts of old checkpoints, with today's names -> those of today") {
    texts now;
    std::apply([&](const auto&... each) { now.of(each...); }, testing::every_strategy{});
    std::apply([&](const auto&... each) { now.of(each...); }, testing::every_compressor{});
    std::apply([&](const auto&... each) { now.of(each...); }, testing::every_optimizer{});
    now.of(
        gossip{sgd{}, topologies::ring{}},
        gossip{momentum_sgd{}, topologies::torus{}, consensus_control{}},
        gossip{sgd{}, topologies::exponential{}, no_control{}, top_k{}, mixing::choco{}},
        gossip{sgd{}, topologies::hypercube{}, no_control{}, none{}, mixing::gradient_tracking{}},
        gossip{sgd{}, topologies::random_matching{}, no_control{}, none{},
               mixing::asynchronous_pairs{}},
        gossip{sgd{}, topologies::random_regular{}, exact_mean{}, none{}, mixing::d_squared{}},
        gossip{sgd{}, topologies::lazy{topologies::star{}}, consensus_band{}, none{},
               mixing::slow_momentum{}},
        gossip{sgd{}, topologies::complete{}, no_control{}, none{}, mixing::push_sum{}},
        gossip{sgd{}, topologies::ring{}, no_control{}, none{}, mixing::adapt_then_combine{},
               surviving{}},
        gossip{sgd{}, topologies::tree{}, fixed_rounds{}, none{}, mixing::quasi_global_momentum{}});
    now.of(parameter_server{sgd{}}, parameter_server{sgd{}, asynchronous{}, delay_compensation{}},
           parameter_server{sgd{}, stale_synchronous{}, gap_aware{}, dgc{}},
           parameter_server{sgd{}, dynamic_stale_synchronous{}, ada_delay{}, none{}, serving{}});
    now.of(local_updates{sgd{}}, local_updates{adamw{}, diloco()},
           local_updates{adamw{}, noloco{}});
    now.of(codistillation{all_reduce{sgd{}}, soft_cross_entropy{}, in<checkpoint_exchange>("x")},
           codistillation{all_reduce{sgd{}}, forward_kl{}, transport_exchange{}},
           codistillation{all_reduce{sgd{}}, reverse_kl{}, prediction_exchange{}},
           codistillation{all_reduce{sgd{}}, squared_logit_error{}, in<finished_models>("y")});

    testing::check_lines(now.all(), "configurations.txt", detail::checkpoint::with_current_names);
}
