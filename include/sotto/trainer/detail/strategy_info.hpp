#pragma once

#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Returns the properties of a run that strategy and transport determine. `together`: the ranks
/// that train one model.
template <class State>
run_info info_of(State& state, transport_ref through, transport_ref together) {
    return {.rank = through.rank(),
            .world_size = through.size(),
            .serves = conducting::memory_of_server(state),
            .mixing = conducting::mixing_graph_of(state),
            .servers_forget = conducting::servers_forget(state),
            .simulated_network = simulated_network_of(through),
            .model = conducting::model_name(state),
            .model_rank = together.rank(),
            .model_ranks = together.size()};
}

}  // namespace sotto::detail
