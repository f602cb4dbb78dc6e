#pragma once

#include "sotto/strategies/local_updates.hpp"

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL all_reduce<momentum_sgd> diloco(double learning_rate, double momentum) {
    return {momentum_sgd{.learning_rate = learning_rate, .momentum = momentum, .nesterov = true}};
}

SOTTO_DECL all_reduce<sgd, error_feedback<chunked_top_k>> sparse_loco(std::int64_t kept,
                                                                      double learning_rate) {
    return {sgd{.learning_rate = learning_rate}, {chunked_top_k{.kept = kept}, 0.95}};
}

SOTTO_DECL all_reduce<sgd, mean_of_senders<error_feedback<chunked_top_k>>> sparse_loco_of_senders(
    std::int64_t kept, double learning_rate) {
    return {sgd{.learning_rate = learning_rate}, {{chunked_top_k{.kept = kept}, 0.95}}};
}

}  // namespace sotto
