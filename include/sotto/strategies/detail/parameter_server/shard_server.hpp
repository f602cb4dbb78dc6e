#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/update/entries.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/staleness/staleness_compensator.hpp"
#include "sotto/strategies/detail/parameter_server/worker_registry.hpp"
#include "sotto/strategies/detail/parameter_server/changed_entries.hpp"
#include "sotto/strategies/detail/parameter_server/entry_room.hpp"
#include "sotto/strategies/detail/parameter_server/version_store.hpp"
#include "sotto/strategies/detail/parameter_server/pushed_entries.hpp"
#include "sotto/strategies/detail/parameter_server/pushed_gradient.hpp"
#include "sotto/strategies/detail/parameter_server/served_push.hpp"
#include "sotto/strategies/detail/parameter_server/served_shard.hpp"
#include "sotto/strategies/detail/parameter_server/staleness_counts.hpp"
#include "sotto/strategies/detail/shard.hpp"
#include "sotto/strategies/detail/step_by_entries.hpp"
#include "sotto/strategies/detail/steps_by_parts.hpp"
#include "sotto/wire/detail/protocols/push.hpp"
#include "sotto/wire/sparse_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// A server's part of parameter_server, without messages: gradients are handed in, and it says
/// which workers may have the parameters. What it does depends on nothing but what it is told, and
/// when.
///   math    a gradient g of worker i, computed at the version that i read: compensated by how far
///           the parameters are from those, then one step of the optimizer. Where the consistency
///           collects, the gradients of a round are added up in the order of the workers, and make
///           one step
///   cost    decoding and one pass of the optimizer a push, both in one pass where messages are
///           dense and the policies work by parts, see steps_by_parts; memory for the parameters of
///           each version in use, see version_store
///   errors  malformed; non_finite where what comes is no number: nothing of it was applied
template <class Options>
class shard_server final : public served_shard {
    using optimizer_options = std::remove_cvref_t<decltype(std::declval<Options>().optimizer)>;
    using consistency_options = std::remove_cvref_t<decltype(std::declval<Options>().consistency)>;
    using compensator_options = std::remove_cvref_t<decltype(std::declval<Options>().compensator)>;
    using compressor_options = std::remove_cvref_t<decltype(std::declval<Options>().compressor)>;
    using optimizer_state =
        decltype(std::declval<const optimizer_options&>().bind(std::declval<const layout&>()));

    static constexpr bool compares = compares_parameters<compensator_options>;
    static constexpr bool in_turn = only_for_rounds<compensator_options>;  // DC-SSGD

public:
    /// Whether the compensator is told of moves.
    static constexpr bool watches =
        compensating::watches_moves<compensator_state<compensator_options>>;
    /// Whether entries can be applied without the whole gradient.
    static constexpr bool by_entries =
        sparse<compressor_options> && optimizing::updates_entries<optimizer_state> && !watches &&
        compensating::works_by_entries<compensator_state<compensator_options>>;
    /// What takes a step part by part, where that is possible.
    using by_parts = steps_by_parts<state_of<compressor_options>,
                                    compensator_state<compensator_options>, optimizer_state>;

    /// `first_rank`: of the first worker; the others follow.
    shard_server(const Options& options, const layout& tensors, const shard& part, int workers,
                 int first_rank = 0)
        : tensors_(part.alone(tensors)),
          first_float_(static_cast<std::size_t>(part.begin_of(tensors))),
          optimizer_(options.optimizer.bind(tensors_)),
          options_(options.consistency),
          registry_(options.consistency, workers, options.servers.servers),
          compensator_(options.compensator.bind(tensors_, workers)),
          gradient_(options.compressor, tensors_, first_rank),
          versions_(workers, static_cast<std::size_t>(tensors_.size())),
          counts_(workers),
          workers_(static_cast<std::size_t>(workers)),
          changed_(by_entries ? static_cast<std::size_t>(tensors_.size()) : 0) {
        optimizing::follow_momentum(optimizer_, compressing::momentum(gradient_.compressor()));
        if constexpr (watches)
            for (const tensor& t : tensors_) before_.reserve(static_cast<std::size_t>(t.size));
        if constexpr (by_entries) {
            room_ = entry_room::of(decoder(), tensors_);
            pushed_.reserve(static_cast<std::size_t>(room_.pushed), tensors_.tensors().size());
            indices_.reserve(static_cast<std::size_t>(room_.answered));
            values_.reserve(static_cast<std::size_t>(room_.answered));
        }
    }

    void begin(std::span<const float> parameters) override {
        const auto mine = parameters.subspan(first_float_, versions_.unread().size());
        std::copy(mine.begin(), mine.end(), versions_.unread().begin());
        has_begun_ = true;
    }
    bool has_begun() const noexcept override { return has_begun_; }
    bool is_present(int worker) const noexcept override { return registry_.has(worker); }
    void expect(int worker) override { registry_.expect(worker); }
    void begin_again() override { registry_.begin_again(options_); }

    /// Everything to be saved.
    void visit(auto&& field) {
        field("parameters", versions_.unread());
        field("version", reinterpret_cast<std::int64_t&>(version_));  // as if it had been signed
        field("dropped", dropped_);
        const auto within = [&field](std::string part) {
            return [&field, part](std::string_view name, auto&& value, auto... how) {
                field(part + std::string(name), value, how...);
            };
        };
        for (std::size_t worker = 0; worker < workers_.size(); ++worker)
            field("last taken of worker " + std::to_string(worker), workers_[worker].took_last);
        optimizing::visit(optimizer_, within("optimizer/"));
        compensating::visit(compensator_, within("compensator/"));
    }
    void show(const field_visitor& field) override { visit(field); }
    void restored() override {
        has_begun_ = true;
        changed_.add_all(version_);
    }

    // What comes

    /// The worker begins: it wants parameters.
    void attach(int worker) {
        registry_.attach(worker);
        complete_rounds();  // it may be that nobody else is waited for
    }

    void push(int worker, byte_view content, time_point now) override {
        std::vector<byte_view>& messages = messages_;
        messages.resize(tensors_.tensors().size());
        const wire::push_header head = wire::read_push(content, messages).value([&] {
            return "what worker " + std::to_string(worker) + " sent to its server";
        });
        switch (head.kind) {
            case wire::push_kind::attach: return attach(worker);
            case wire::push_kind::resend:
            case wire::push_kind::resume:
                registry_.continue_from(worker, static_cast<std::int64_t>(head.clock));
                return complete_rounds();
            case wire::push_kind::done: return detach(worker, true);
            case wire::push_kind::gradient: break;
        }
        entry& w = of(worker);
        if (!registry_.has(worker) || registry_.waits(worker) || !w.has_read || head.read != w.read)
            throw malformed("worker " + std::to_string(worker),
                            {0, "a gradient of parameters that it has read",
                             static_cast<std::int64_t>(head.read)});
        if (!compares) versions_.release(worker);  // its answer has arrived
        const bool dropped = registry_.push(worker, static_cast<std::int64_t>(head.clock), now);
        w.took_last = dropped ? 0 : 1;
        w.staleness = version_ - head.read;
        if (dropped) {
            ++dropped_;
            log_.push_back({worker, head.round, head.read, 0});
        } else if (registry_.collects()) {
            w.collected.assign(content.begin(), content.end());
            w.head = head;
        } else {
            take(worker, head, messages);
        }
        complete_rounds();
    }

    void detach(int worker, bool done = false) override {
        entry& w = of(worker);
        if (!registry_.detach(worker, done)) return;
        w.has_read = false;
        if (w.collected.empty()) versions_.release(worker);
        versions_.free_unused();
        if (!done) compensating::forget(compensator_, worker);
        complete_rounds();
    }

    std::optional<answer> next_answer(time_point now) override {
        const auto worker = registry_.next_to_go(now);
        if (!worker) return std::nullopt;
        entry& w = of(*worker);
        answer made{*worker,
                    {.taken = w.took_last != 0, .version = version_, .staleness = w.staleness},
                    {}};
        if (w.has_read && answer_by_changes(*worker)) {
            made.head.kind = wire::parameters_kind::changed;
            made.content = w.changes;
        } else {
            made.content = std::as_bytes(versions_.read(*worker));
        }
        made.head.size = made.content.size();
        made.head.clock = static_cast<std::uint64_t>(registry_.clock(*worker));
        w.has_read = true;
        w.read = version_;
        return made;
    }

    std::span<const float> own() const noexcept override { return versions_.now(); }
    std::uint64_t version() const noexcept override { return version_; }
    std::int64_t dropped() const noexcept override { return dropped_; }
    const staleness_counts& staleness() const noexcept override { return counts_; }
    std::span<const served_push> log() const noexcept override { return log_; }
    void forget_log() noexcept override { log_.clear(); }
    std::size_t kept_bytes() const noexcept override { return versions_.memory(); }
    const layout& tensors() const noexcept override { return tensors_; }
    std::size_t moved() const noexcept override { return moved_; }
    /// What it holds of entries at most.
    const entry_room& room() const noexcept { return room_; }
    /// The state that decodes.
    const auto& decoder() const noexcept { return gradient_.compressor(); }

private:
    struct entry {
        bool has_read = false;
        std::int64_t took_last = 1;  // its last gradient, 0 or 1
        std::uint64_t read = 0;      // which version
        std::uint64_t staleness = 0;
        wire::push_header head{};
        bytes collected;  // its gradient of the round that is not complete
        bytes changes;    // its last answer, where that is what had changed
    };

    entry& of(int worker) noexcept { return workers_[static_cast<std::size_t>(worker)]; }

    /// Makes an answer of what has changed since the worker has read; false where all is better.
    bool answer_by_changes(int worker) {
        if constexpr (!by_entries) return false;
        entry& w = of(worker);
        indices_.clear();
        if (!changed_.since(w.read, indices_)) return false;
        const auto present = own();
        values_.resize(indices_.size());
        for (std::size_t k = 0; k < indices_.size(); ++k) values_[k] = present[indices_[k]];
        w.changes.clear();
        w.changes.reserve(static_cast<std::size_t>(room_.answer_bytes));
        sotto::wire::encode_sparse(static_cast<std::int64_t>(present.size()),
                                   std::span<const std::uint32_t>(indices_), values_,
                                   wire::value_format::fp32, w.changes);
        if constexpr (compares)
            kernels::copy_at(versions_.own(worker), versions_.now(), indices_);
        else
            versions_.release(worker);
        return true;
    }

    void complete_rounds() {
        while (registry_.round_complete()) {
            if constexpr (in_turn)
                step_one_by_one();
            else
                step_by_all();
            registry_.end_round();
        }
    }

    /// One gradient makes a step.
    void take(int worker, const wire::push_header& head, std::span<const byte_view> messages) {
        if constexpr (by_entries) {
            if (optimizing::updates_sparsely(optimizer_)) {
                take_entries(worker, head, messages);
                note(worker, head, version_);
                return;
            }
        }
        if constexpr (by_parts::possible) {
            take_by_parts(worker, head, messages);
        } else {
            gradient_.add(worker, head, messages, true);
            step(worker, head, versions_.of(worker));
        }
        changed_.add_all(++version_);
        note(worker, head, version_);
    }

    void take_by_parts(int worker, const wire::push_header& head,
                       std::span<const byte_view> messages) {
        gradient_.begin(worker, head);
        by_parts parts(tensors_, gradient_.compressor(), compensator_, optimizer_);
        const int rank = gradient_.rank_of(worker);
        const auto weight = static_cast<float>(registry_.weight());
        const std::span<const float> present = versions_.now();
        const std::span<const float> read =
            compares ? versions_.of(worker) : std::span<const float>();
        const std::span<float> next = versions_.next(worker);
        begin_step(worker, head);
        if (parts.can_step_at_once(messages, present, read, next, weight)) {
            parts.step_at_once(messages, present, next, rank);
        } else {
            parts.check(messages, rank);
            parts.step(messages, present, read, next, weight);
        }
        optimizing::commit(optimizer_);
        versions_.step(worker);
    }

    /// The same where most of the gradient is 0: touches what is not.
    void take_entries(int worker, const wire::push_header& head,
                      std::span<const byte_view> messages) {
        gradient_.begin(worker, head);
        pushed_.begin();
        std::size_t whole = 0;
        const int rank = gradient_.rank_of(worker);
        const auto& decoder = gradient_.compressor();
        const std::span<const tensor> all = tensors_.tensors();
        for (std::size_t k = 0; k < all.size(); ++k) {  // all of it before anything changes
            const tensor& t = all[k];
            if (decoder.sums(t)) {
                gradient_.add(worker, t, messages[k], true);
                pushed_.skip();
                whole += static_cast<std::size_t>(t.size);
            } else if (k + 1 < all.size() && !decoder.sums(all[k + 1])) {
                pushed_.read_pair(gradient_.compressor(), t, messages[k], all[k + 1],
                                  messages[k + 1], rank);
                ++k;
            } else {
                pushed_.read(gradient_.compressor(), t, messages[k], rank);
            }
        }
        const auto weight = static_cast<float>(registry_.weight());
        const std::span<const float> read = versions_.of(worker);
        const std::span<float> weights = versions_.change();
        begin_step(worker, head);
        moved_ = pushed_.size() + whole;
        const bool notes = changed_.begin(++version_, moved_);
        for (std::size_t k = 0; k < all.size(); ++k) {
            const tensor& t = all[k];
            const auto offset = static_cast<std::uint32_t>(t.offset);
            if (decoder.sums(t)) {
                prepare(t, read, weight);
                move(t, weights);
                if (notes) changed_.add_run(offset, static_cast<std::size_t>(t.size));
            } else {
                const auto at = pushed_.indices(k);
                step_by_entries(compensator_, optimizer_, t, t.of(weights), at, pushed_.values(k),
                                compares && !read.empty() ? t.of(read) : read.first(0), weight);
                if (notes) changed_.add(offset, at);
            }
        }
        optimizing::commit(optimizer_);
    }

    /// The gradients of a round make one step together.
    void step_by_all() {
        const entry* last = nullptr;
        for_each_collected([&](int worker, entry& w) {
            gradient_.add(worker, w.head, messages_, !last);
            last = &w;
        });
        if (!last) return;
        step(0, last->head, {});
        changed_.add_all(++version_);
        for_each_collected([&](int worker, entry& w) { note(worker, w.head, version_); });
        clear_collected();
    }

    /// Each makes a step where those before it have led; none if one of them is no number.
    void step_one_by_one() {
        for_each_collected(
            [&](int worker, entry& w) { gradient_.add(worker, w.head, messages_, true); });
        for_each_collected([&](int worker, entry& w) {
            gradient_.add(worker, w.head, messages_, true);
            step(worker, w.head, versions_.of(worker));
        });
        changed_.add_all(++version_);
        for_each_collected([&](int worker, entry& w) { note(worker, w.head, version_); });
        clear_collected();
    }

    /// In the order of the workers; `messages_` is what each one's push has.
    template <class Visitor>
    void for_each_collected(Visitor&& visit) {
        for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) {
            entry& w = of(worker);
            if (w.collected.empty() || !registry_.in_round(worker)) continue;
            messages_.resize(tensors_.tensors().size());
            (void)wire::read_push(w.collected, messages_);  // as it was when it came
            try {
                visit(worker, w);
            } catch (const malformed_message&) {  // the others may continue without it
                w.collected.clear();
                throw;
            }
        }
    }

    void clear_collected() {
        for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) {
            entry& w = of(worker);
            if (w.collected.empty() || !registry_.in_round(worker)) continue;
            if (!registry_.has(worker)) versions_.release(worker);  // it has gone
            w.collected.clear();
        }
    }

    void note(int worker, const wire::push_header& head, std::uint64_t led_to) {
        counts_.add(worker, static_cast<std::int64_t>(led_to - 1 - head.read));
        log_.push_back({worker, head.round, head.read, led_to});
    }

    /// The optimizer's step by what was decoded, which was computed at the parameters `read`; empty
    /// where these are the present ones.
    void step(int worker, const wire::push_header& head, std::span<const float> read) {
        const auto weight = static_cast<float>(registry_.weight());
        const double factor = begin_compensating(worker, head);
        for (const tensor& t : tensors_) prepare(t, read, weight);
        optimizer_.begin_step({.where = where(head), .rate_factor = factor}, gradient_.all());
        const std::span<float> weights = versions_.change();
        for (const tensor& t : tensors_) move(t, weights);
        optimizing::commit(optimizer_);
    }

    /// For an optimizer that does not ask for the whole gradient.
    void begin_step(int worker, const wire::push_header& head) {
        const double factor = begin_compensating(worker, head);
        optimizer_.begin_step({.where = where(head), .rate_factor = factor}, gradient_.all());
    }

    double begin_compensating(int worker, const wire::push_header& head) {
        return compensator_.begin({.worker = worker,
                                   .staleness = static_cast<std::int64_t>(version_ - head.read),
                                   .step = static_cast<std::int64_t>(version_),
                                   .learning_rate = optimizing::rate_at(optimizer_, where(head))});
    }

    round_info where(const wire::push_header& head) const noexcept {
        return {.step = static_cast<std::int64_t>(version_), .epoch = head.epoch};
    }

    /// From a worker's gradient to what the optimizer sees.
    void prepare(const tensor& t, std::span<const float> read, float weight) {
        const auto g = gradient_.of(t);
        if (compares && !read.empty())
            compensating::compensate(compensator_, t, g, t.of(versions_.now()), t.of(read));
        if (weight != 1.0f) kernels::scale(g, weight);
    }

    void move(const tensor& t, std::span<float> weights) {
        const std::span<float> w = t.of(weights);
        if constexpr (watches) before_.assign(w.begin(), w.end());
        optimizer_.update(t, w, gradient_.of(t));
        if constexpr (watches) {
            for (std::size_t i = 0; i < w.size(); ++i) before_[i] = w[i] - before_[i];
            compensator_.moved(t, before_);
        }
    }

    layout tensors_;
    std::size_t first_float_;  // of the model's
    optimizer_state optimizer_;
    consistency_options options_;
    worker_registry<consistency_options> registry_;
    compensator_state<compensator_options> compensator_;
    pushed_gradient<compressor_options> gradient_;
    version_store versions_;
    staleness_counts counts_;
    std::vector<entry> workers_;
    std::vector<byte_view> messages_;
    pushed_entries pushed_;
    std::size_t moved_ = 0;
    std::vector<std::uint32_t> indices_;  // of an answer
    std::vector<float> values_;
    std::vector<float> before_;
    changed_entries changed_;
    entry_room room_;
    std::vector<served_push> log_;
    std::uint64_t version_ = 0;
    std::int64_t dropped_ = 0;
    bool has_begun_ = false;
};

}  // namespace sotto::detail
