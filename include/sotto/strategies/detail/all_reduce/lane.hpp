#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/choose_sparse.hpp"
#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/strategies/detail/all_reduce/entry_route.hpp"
#include "sotto/strategies/detail/all_reduce/shared_sum.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// The way of one tensor's gradient to all ranks and back: a sum of payloads where the compressor
/// can be summed, or several sums one after the other, each begun as soon as the one before has
/// come; or one sum of several tensors' payloads together; else everybody's message, decoded in the
/// order of the ranks. Messages of entries go as choose_sparse and is_dense_shorter say, or as was
/// asked for.
template <class Compressor, class Collective>
class lane {
    using state = state_of<Compressor>;
    using gather_options = std::conditional_t<std::is_same_v<Collective, collectives::all_gather>,
                                              Collective, collectives::all_gather>;
    using sum_options = std::conditional_t<collectives::summing<Collective>, Collective,
                                           sotto::collectives::automatic>;
    using gathering =
        decltype(std::declval<gather_options>().bind(std::declval<transport_ref>(), 0));
    using summing = decltype(std::declval<sum_options>().bind(std::declval<transport_ref>(), 0));

    using route = entry_route<Compressor, Collective>;
    static constexpr bool chooses = route::chooses, reselects = route::reselects;
    static_assert(reselects || !route::scatters,
                  "all_reduce: collectives::sparse_reduce_scatter needs a sparse compressor that "
                  "takes entries back and does not keep the sum of all messages by itself");
    using reselection =
        std::conditional_t<reselects, collectives::sparse_all_reduce, std::monostate>;

    enum class way : std::uint8_t { nothing, sum, gather, reselection, dense };

public:
    /// The sum of several tensors that travel together.
    using shared = shared_sum<Compressor, summing>;

    /// Whether a tensor goes as a sum of payloads.
    static bool is_summed([[maybe_unused]] const state& compressor, const tensor& t) {
        if constexpr (packs<Compressor>) {
            constexpr bool gathers = std::is_same_v<Collective, collectives::all_gather>;
            return t.size > 0 && compressor.sums(t) &&
                   !(gathers && compressing::gathers(compressor, t));
        } else {
            return false;
        }
    }

    /// What `options` say a shared sum is bound to.
    template <class Options>
    static auto binding(const Options& options, transport_ref through) {
        return [&options, through](std::int64_t size_max, wire::value_format format) {
            return chosen<sum_options>(options).bind(through, size_max, format);
        };
    }

    /// `options` are the strategy's: g++ 12 takes a reference to its collective, which often has no
    /// members, for one to memory that was never written. `gives`: of each rank, whether it has a
    /// gradient in the round under way; another one may send nothing. It is borrowed.
    template <class Options>
    lane(const tensor& t, const Options& options, const state& compressor, transport_ref through,
         const std::vector<std::uint8_t>& gives, shared* group = nullptr)
        : tensor_(t), through_(through), gives_(&gives), world_(through.size()) {
        if (t.size == 0) return;
        if (is_summed(compressor, t)) {
            way_ = way::sum;
            format_ = compressing::payload_format(compressor, t);
            shared_ = group;
            if (shared_) return;
            payloads_.resize(static_cast<std::size_t>(t.size));
            sum_.emplace(binding(options, through)(t.size, format_));
            return;
        }
        bytes_max_ = compressing::message_bytes_max(compressor, t);
        message_.reserve(static_cast<std::size_t>(bytes_max_));
        // Sparse sums are applied entry by entry while that touches less memory than a pass over
        // the tensor.
        if constexpr (sparse<Compressor>) {
            touched_.reserve(static_cast<std::size_t>(t.size / 4));
            run_ends_.reserve(static_cast<std::size_t>(world_));
        }
        way_ = while_sparse_ = way::gather;
        if constexpr (chooses) bind_entries(options, compressor, through);
        if (while_sparse_ == way::gather)
            gather_.emplace(chosen<gather_options>(options).bind(through, bytes_max_));
    }

    /// With whom this tensor travels; null where it travels alone.
    const shared* together() const noexcept { return shared_; }

    /// Compresses and sends; returns the bytes that the gradient became.
    std::int64_t send(state& compressor, std::span<const float> gradient, std::int64_t round) {
        if (way_ == way::nothing) return 0;
        if constexpr (packs<Compressor>)
            if (way_ == way::sum) {
                const auto payload = first_payload(compressor, round, true);
                compressor.pack(tensor_, gradient, payload);
                start_sum(round);
                return payload_bytes(compressor);
            }
        message_.clear();
        compressor.encode(tensor_, gradient, message_);
        return send_message(compressor, round);
    }

    /// Whether send_weighted can be called.
    bool weighs(const state& compressor) const noexcept {
        return way_ != way::nothing && way_ != way::sum && compressing::weighs(compressor, tensor_);
    }

    /// As `send` of `weight` times the gradient, see compressor.
    std::int64_t send_weighted(state& compressor, std::span<const float> gradient, float weight,
                               std::int64_t round) {
        message_.clear();
        if constexpr (compressing::encodes_weighted<state>)
            compressor.encode_weighted(tensor_, gradient, weight, message_);
        return send_message(compressor, round);
    }

    /// Takes part without a gradient. A compressor that remembers is given zeros, so that what
    /// waits goes on being sent: this rank may never have data, and owns stripes all the same.
    std::int64_t send_nothing(state& compressor, std::span<const float> zeros, std::int64_t round) {
        if constexpr (remembers<Compressor>) return send(compressor, zeros, round);
        if (way_ == way::nothing) return 0;
        if constexpr (packs<Compressor>)
            if (way_ == way::sum) {
                const auto payload = first_payload(compressor, round, false);
                std::fill(payload.begin(), payload.end(), 0.0f);
                start_sum(round);
                return 0;
            }
        if constexpr (chooses)
            if (!gathers_now(compressor)) {
                start_entries(compressor, {}, round);
                return 0;
            }
        gather_->start({}, label(channels::messages, round));
        return 0;
    }

    /// Does what can be done without blocking; true once the exchange is complete.
    bool advance(state& compressor) {
        switch (way_) {
            case way::nothing: return true;
            case way::gather: return gather_->advance();
            case way::reselection:
                if constexpr (reselects)
                    return detail::read_from(
                        through_, through_.rank(), [this] { return reselection_->advance(); },
                        [this] { return " (tensor '" + tensor_.name + "')"; });
                break;
            case way::sum:
                if (shared_) return shared_->advance();
                break;
            case way::dense: break;
        }
        while (sum_->advance()) {
            if (payloads_left_ == 0) return true;
            if constexpr (packs<Compressor>) start_next(compressor);
        }
        return false;
    }

    /// The round failed: no payload of it follows.
    void abandon() noexcept {
        payloads_left_ = 0;
        if (shared_) shared_->clear();
    }

    /// What all ranks sent, added up. For tensors that are not sums of payloads `sum` is all zero
    /// beforehand.
    void decode(state& compressor, std::span<float> sum) {
        if (way_ == way::nothing) return;
        if constexpr (packs<Compressor>)
            if (way_ == way::sum) {
                compressor.unpack(tensor_, payload_, sum);
                return require_finite(sum);
            }
        touched_.clear();
        run_ends_.clear();
        entry_by_entry_ = sparse<Compressor> && !compressing::has_after_sum<state>;
        if (way_ == way::gather) add_messages(compressor, sum);
        if constexpr (chooses)
            if (way_ == way::dense) {
                std::copy(payload_.begin(), payload_.end(), sum.begin());
                entry_by_entry_ = false;
            }
        if constexpr (reselects)
            if (way_ == way::reselection) add_sums(compressor, sum);
        compressing::after_sum(compressor, tensor_, sum);
        if (!entry_by_entry_) require_finite(sum);
    }

    /// Takes the optimizer's step of this tensor; the sum may be written over.
    template <class Optimizer>
    void apply(Optimizer& optimizer, bool sparsely, std::span<float> parameters,
               std::span<float> sum) {
        if (shared_) shared_->clear();
        if (sparsely && entry_by_entry_) {
            if constexpr (requires { optimizer.update_at(tensor_, parameters, sum, touched_); }) {
                // An index that two ranks sent comes twice; the second time its sum is zero.
                std::size_t from = 0;
                for (const std::size_t to : run_ends_) {
                    const auto indices =
                        std::span<const std::uint32_t>(touched_).subspan(from, to - from);
                    optimizer.update_at(tensor_, parameters, sum, indices);
                    for (const std::uint32_t i : indices) sum[i] = 0.0f;
                    from = to;
                }
                return;
            }
        }
        optimizer.update(tensor_, parameters, sum);
        if (way_ != way::sum) std::fill(sum.begin(), sum.end(), 0.0f);
    }

private:
    std::int64_t send_message(state& compressor, std::int64_t round) {
        const auto size = static_cast<std::int64_t>(message_.size());
        if (size > bytes_max_)
            throw invalid_option("all_reduce: the compressor wrote " + std::to_string(size) +
                                 " bytes for tensor '" + tensor_.name +
                                 "' where its message_bytes_max allows " +
                                 std::to_string(bytes_max_));
        if constexpr (chooses)
            if (!gathers_now(compressor)) {
                start_entries(compressor, compressor.decode(tensor_, message_), round);
                return way_ == way::dense ? 4 * tensor_.size : size;
            }
        gather_->start(message_, label(channels::messages, round));
        return size;
    }

    template <class Wanted, class Options>
    static Wanted chosen(const Options& options) {
        if constexpr (std::is_same_v<Wanted, Collective>)
            return options.collective;
        else
            return Wanted{};
    }

    tag label(std::uint32_t channel, std::int64_t round) const noexcept {
        return {channel, static_cast<std::uint32_t>(tensor_.index),
                static_cast<std::uint64_t>(round)};
    }

    std::span<float> first_payload(const state& compressor, std::int64_t round, bool has_gradient) {
        round_ = round;
        has_gradient_ = has_gradient;
        payload_count_ = compressing::payload_count(compressor, tensor_);
        payloads_left_ = payload_count_ - 1;
        return payload_ = shared_ ? shared_->part_of(compressor, tensor_, round)
                                  : room_after(0, size_of_payload(compressor, 0));
    }

    void start_sum(std::int64_t round) {
        if (shared_) return shared_->join();
        sum_->start(payload_, label(channels::sums, round));
    }

    /// Behind the sum of the one before, which is read while it is made.
    void start_next(state& compressor) {
        const int number = payload_count_ - payloads_left_--;
        const std::span<const float> sum = payload_;
        const auto end = static_cast<std::size_t>(sum.data() - payloads_.data()) + sum.size();
        payload_ = room_after(end, size_of_payload(compressor, number));
        compressing::pack_next(compressor, tensor_, number, sum, payload_);
        if (!has_gradient_) std::fill(payload_.begin(), payload_.end(), 0.0f);
        sum_->start(payload_, label(channels::sums, round_));
    }

    std::span<float> room_after(std::size_t start, std::size_t size) {
        if (size > payloads_.size() - start)
            throw invalid_option("all_reduce: the compressor's payloads of tensor '" +
                                 tensor_.name + "' have " + std::to_string(start + size) +
                                 " values together; at most " + std::to_string(payloads_.size()) +
                                 ", the tensor's size, are allowed");
        return std::span(payloads_).subspan(start, size);
    }

    std::size_t size_of_payload(const state& compressor, int number) const {
        return static_cast<std::size_t>(compressing::payload_size(compressor, tensor_, number));
    }

    std::int64_t payload_bytes(const state& compressor) const {
        std::size_t values = 0;
        for (int number = 0; number < payload_count_; ++number)
            values += size_of_payload(compressor, number);
        return static_cast<std::int64_t>(values) * sotto::wire::bytes_per_value(format_);
    }

    /// Settles which way entries go while they are sparse, and takes memory for dense rounds if
    /// there can be any.
    template <class Options>
    void bind_entries(const Options& options, const state& compressor, transport_ref through) {
        route_ = route(tensor_, compressor, world_,
                       chosen<sotto::collectives::sparse_reduce_scatter>(options));
        if constexpr (reselects)
            if (route_.while_sparse() == collectives::sparse_way::reduce_scatter) {
                way_ = while_sparse_ = way::reselection;
                reselection_.emplace(route_.bind(through));
            }
        if (!route_.may_be_dense()) return;
        payloads_.resize(static_cast<std::size_t>(tensor_.size));
        sum_.emplace(chosen<sum_options>(options).bind(through, tensor_.size));
    }

    bool gathers_now(const state& compressor) {
        way_ = sum_ && route_.is_dense_now(compressor, tensor_) ? way::dense : while_sparse_;
        return way_ == way::gather;
    }

    void start_entries(const state& compressor, const sparse_view& entries, std::int64_t round) {
        if constexpr (reselects)
            if (way_ == way::reselection)
                return reselection_->start({entries.indices, entries.values},
                                           route_.kept_now(compressor, tensor_),
                                           label(channels::messages, round));
        payload_ = payloads_;
        std::fill(payload_.begin(), payload_.end(), 0.0f);
        for (std::size_t j = 0; j < entries.indices.size(); ++j)
            payload_[entries.indices[j]] = entries.values[j];
        sum_->start(payload_, label(channels::sums, round));
    }

    void add_messages(state& compressor, std::span<float> sum) {
        for (int rank = 0; rank < world_; ++rank) {
            const byte_view message = gather_->block_of(rank);
            if (message.empty() && (*gives_)[static_cast<std::size_t>(rank)] == 0) continue;
            detail::read_from(through_, rank, [&] {
                if constexpr (sparse<Compressor>)
                    add(compressor.decode(tensor_, message), sum);
                else
                    compressor.decode_add(tensor_, message, sum);
            });
        }
    }

    void add_sums(state& compressor, std::span<float> sum) {
        for (int rank = 0; rank < world_; ++rank) {
            const kernels::sparse_values sums = reselection_->sums_of(rank);
            add({sums.indices, sums.values}, sum);
        }
        const kernels::sparse_values left = reselection_->left();
        if (const std::int64_t j = kernels::first_non_finite(left.values); j >= 0)
            refuse(left.indices[static_cast<std::size_t>(j)]);
        compressor.take_back(tensor_, left.indices, left.values);
    }

    void add(const sparse_view& entries, std::span<float> sum) {
        bool finite = true;
        for (std::size_t j = 0; j < entries.indices.size(); ++j) {
            const std::uint32_t i = entries.indices[j];
            if (i >= sum.size())
                throw malformed("the message for tensor '" + tensor_.name + "'",
                                {.expected = "an index below the tensor's size", .found = i});
            sum[i] += entries.values[j];
            finite &= kernels::is_finite(sum[i]);
        }
        if (!finite) require_finite(sum);
        if (touched_.size() + entries.indices.size() > touched_.capacity()) entry_by_entry_ = false;
        if (!entry_by_entry_) return;
        touched_.insert(touched_.end(), entries.indices.begin(), entries.indices.end());
        run_ends_.push_back(touched_.size());
    }

    void require_finite(std::span<const float> sum) const {
        if (const std::int64_t i = kernels::first_non_finite(sum); i >= 0) refuse(i);
    }

    [[noreturn]] void refuse(std::int64_t index) const {
        throw error(errc::non_finite, "the sum over all ranks is not finite: tensor '" +
                                          tensor_.name + "', element " + std::to_string(index) +
                                          sotto::wire::range_hint(format_));
    }

    tensor tensor_;
    transport_ref through_;
    const std::vector<std::uint8_t>* gives_;
    int world_;
    way way_ = way::nothing;           // of this round
    way while_sparse_ = way::nothing;  // of rounds in which a dense sum is not shorter
    route route_;
    std::vector<float> payloads_;  // of a round, one behind the other
    std::span<float> payload_;     // the one that is being summed, or was last
    int payload_count_ = 1;        // in this round
    int payloads_left_ = 0;        // to be started
    bool has_gradient_ = false;
    std::int64_t round_ = 0;
    wire::value_format format_ = wire::value_format::fp32;
    shared* shared_ = nullptr;
    bytes message_;
    std::int64_t bytes_max_ = 0;
    std::vector<std::uint32_t>
        touched_;  // indices that messages of this round hold, rank after rank
    std::vector<std::size_t> run_ends_;  // where each rank's end: within one run no index repeats
    bool entry_by_entry_ = false;
    std::optional<summing> sum_;  // from here on last: transfers end before the memory goes
    std::optional<gathering> gather_;
    std::optional<reselection> reselection_;
};

}  // namespace sotto::detail
