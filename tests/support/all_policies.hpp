#pragma once

#include <tuple>
#include <type_traits>

#include "sotto/collectives/all_gather.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/halving_doubling.hpp"
#include "sotto/collectives/hierarchical.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/compressors/chunked_top_k.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/mean_of_senders.hpp"
#include "sotto/compressors/momentum_corrected.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/power_sgd.hpp"
#include "sotto/compressors/qsgd.hpp"
#include "sotto/compressors/random_k.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sampled_top_k.hpp"
#include "sotto/compressors/scaled_down.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/terngrad.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/clipped.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"

// Every policy of the library, by concept. A new one is one line here, and is then under every
// contract.
namespace sotto::testing {

using every_compressor =
    std::tuple<none, fp16, bf16, top_k, sampled_top_k, random_k, threshold, dgc,
               sparsified<top_k, residual>, sparsified<sampled_top_k, residual>,
               sparsified<random_k, residual>, sparsified<threshold, residual>,
               sparsified<top_k, momentum_corrected, exponential_warm_up>,
               sparsified<random_k, momentum_corrected, warm_up>, scaled_sign, qsgd, terngrad,
               scaled_down<qsgd>, error_feedback<scaled_sign>, error_feedback<top_k>,
               ef21<scaled_sign>, ef21<top_k>, power_sgd, chunked_top_k,
               error_feedback<chunked_top_k>, mean_of_senders<error_feedback<chunked_top_k>>>;

/// Those that remember everything they do not send.
using compressors_with_residual =
    std::tuple<sparsified<top_k, residual>, sparsified<sampled_top_k, residual>,
               sparsified<random_k, residual>, sparsified<threshold, residual>>;

using every_optimizer = std::tuple<sgd, momentum_sgd, adamw, scheduled<sgd, cosine>,
                                   scheduled<adamw, linear_scaling>, clipped<momentum_sgd>>;

using every_strategy = std::tuple<
    all_reduce<sgd, none>, all_reduce<momentum_sgd, none, collectives::ring>,
    all_reduce<adamw, none, collectives::tree>,
    all_reduce<clipped<momentum_sgd>, none, collectives::halving_doubling>,
    all_reduce<sgd, none, collectives::all_gather>,
    all_reduce<scheduled<sgd, cosine>, fp16>, all_reduce<momentum_sgd, bf16>, all_reduce<sgd, dgc>,
    all_reduce<scheduled<sgd, cosine>, sparsified<threshold, residual>>,
    all_reduce<adamw, sparsified<top_k, residual>>,
    all_reduce<momentum_sgd, sparsified<random_k, residual>>,
    all_reduce<sgd, sparsified<random_k, momentum_corrected, warm_up>, collectives::ring>,
    all_reduce<sgd, sparsified<random_k, momentum_corrected, warm_up>,
               collectives::all_gather>,
    all_reduce<momentum_sgd, power_sgd>, all_reduce<adamw, error_feedback<scaled_sign>>,
    all_reduce<sgd, ef21<top_k>>, all_reduce<momentum_sgd, qsgd>,
    all_reduce<sgd, error_feedback<chunked_top_k>>,
    all_reduce<sgd, mean_of_senders<error_feedback<chunked_top_k>>>,
    all_reduce<sgd, dgc, collectives::sparse_reduce_scatter>,
    all_reduce<sgd, dgc, collectives::hierarchical>,
    all_reduce<momentum_sgd, power_sgd, collectives::hierarchical>>;

/// One for each way to exchange: sums, sums of chosen entries, sums that depend on each other,
/// gathered messages, differences of them, entries that are selected again, messages of hosts.
/// Where every strategy would say no more, over transports of one kind, and takes minutes to
/// compile.
using strategies_of_each_kind = std::tuple<
    all_reduce<sgd, none>, all_reduce<momentum_sgd, none, collectives::ring>,
    all_reduce<scheduled<sgd, cosine>, fp16>, all_reduce<sgd, dgc>,
    all_reduce<sgd, sparsified<random_k, momentum_corrected, warm_up>, collectives::ring>,
    all_reduce<momentum_sgd, power_sgd>, all_reduce<sgd, ef21<top_k>>,
    all_reduce<sgd, dgc, collectives::sparse_reduce_scatter>,
    all_reduce<sgd, dgc, collectives::hierarchical>>;

/// Whether it makes groups of its own: these can be two deep, so that it goes into a group, but not
/// into a group of a group.
template <class Strategy>
inline constexpr bool makes_groups =
    std::is_same_v<decltype(Strategy::collective), collectives::hierarchical>;

}  // namespace sotto::testing
