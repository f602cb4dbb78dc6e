// The five programs that a user writes, whole. A transport that is made as TCP is stands for all
// that are. Compiling is passing.

#include "sotto/models.hpp"
#include "sotto/sotto.hpp"
#include "static/least_transport.hpp"

namespace sketch {

// 2. What a TCP transport adds to the concept: how it comes about. It cannot be copied or moved.
struct tcp;
namespace launch {
struct environment {};
environment from_environment();
}  // namespace launch

struct tcp : sotto::testing::least_transport {
    static tcp join(const launch::environment&);
    tcp(const tcp&) = delete;
};
static_assert(sotto::transport<tcp> && sotto::transport<sotto::group>);

}  // namespace sketch

void first_program(const sotto::data::labelled_set& digits) {
    sotto::run_in_process(4, [&](auto& transport) {
        sotto::models::mlp model{784, 256, 10};
        sotto::trainer trainer{model,
                               sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                                                 sotto::dgc{.density = 0.001, .momentum = 0.9}},
                               transport};
        trainer.fit(digits, sotto::epochs{10}, sotto::progress_bar{});
    });
}

void over_tcp(const auto& strategy, const sotto::data::labelled_set& digits) {
    sketch::tcp transport = sketch::tcp::join(sketch::launch::from_environment());
    sotto::models::mlp model{784, 256, 10};
    sotto::trainer trainer{model, strategy, transport};
    trainer.fit(digits, sotto::epochs{10}, sotto::evaluate_on{digits}, sotto::progress_bar{});
}

void second_program(const sotto::data::labelled_set& digits) {
    over_tcp(sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                               sotto::dgc{.density = 0.001, .momentum = 0.9}},
             digits);
}

void third_program(const sotto::data::labelled_set& digits) {
    over_tcp(sotto::parameter_server{sotto::sgd{.learning_rate = 0.1}, sotto::asynchronous{},
                                     sotto::delay_compensation_adaptive{.lambda = 2.0}},
             digits);
}

void fourth_program(const sotto::data::labelled_set& digits) {
    over_tcp(sotto::gossip{sotto::momentum_sgd{.learning_rate = 0.1}, sotto::topologies::ring{},
                           sotto::consensus_control{.rho = 0.25}},
             digits);
}

void fifth_program(const sotto::data::labelled_set& digits) {
    over_tcp(sotto::codistillation{sotto::all_reduce{sotto::sgd{}, sotto::dgc{}},
                                   sotto::soft_cross_entropy{},
                                   sotto::checkpoint_exchange{.folder = "teachers"},
                                   {.count = 2, .every = 50, .burn_in = 1000}},
             digits);
}
