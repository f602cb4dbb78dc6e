#pragma once

#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/strategies/model_groups.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// What an exchange of models is bound to, on the one rank that speaks for its group.
struct meeting_place {
    model_groups groups;        // which one this is
    std::vector<int> teachers;  // groups whose models are wanted here, at some time or other
    std::vector<int> students;  // groups that want this one's
    const layout& tensors;      // of the model
    transport_ref world;        // over which groups meet
    std::vector<int> leaders;  // the ranks that speak for each group; none where groups are jobs of
                               // their own
};

}  // namespace sotto::detail
