#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/job_name.hpp"
#include "sotto/checkpoint/detail/own_state.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/detail/memory/difference.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/strategies/detail/parameter_server/arrival_order.hpp"
#include "sotto/strategies/detail/parameter_server/memory_of_server.hpp"
#include "sotto/strategies/detail/parameter_server/server_roles.hpp"
#include "sotto/strategies/detail/parameter_server/shard_server.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/detail/shard.hpp"
#include "sotto/strategies/parameter_server/arrival_paths.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"
#include "sotto/transports/remarks.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

/// A server among the ranks: receives pushes, hands them to its shard_server, and sends what that
/// answers. Nothing of it happens but while it is called, and it charges the memory that it touches
/// to the transport.
///
/// Every rank, working or not, says in the end that it is done; once all that are there have, all
/// are sent the parameters once more.
template <class Options>
class serving_rank {
public:
    /// Serves this part of the tensors. `files`: by which it saves what it holds.
    serving_rank(const Options& options, const layout& tensors, const shard& part,
                 const server_roles& roles, transport_ref through, checkpoint::disk files = {})
        : through_(through),
          roles_(roles),
          server_(options, tensors, part, roles.workers(), roles.rank_of(0)),
          seen_(roles.workers()),
          says_(remarks::of(through)),
          ranks_(static_cast<std::size_t>(through.size())),
          rounds_(static_cast<std::size_t>(roles.workers())) {
        room_.resize(static_cast<std::size_t>(push_bytes_max(server_)));
        memory_ = memory_of(server_, options, roles.workers());
        if (!options.servers.checkpoints.empty()) {
            using optimizer_options = std::remove_cvref_t<decltype(options.optimizer)>;
            if constexpr (!optimizing::can_be_saved<optimizer_options>)
                throw invalid_option(
                    "parameter_server: checkpoints, but the optimizer has no visit(field), which "
                    "shows everything to be saved: what it remembers would be lost");
            description text;
            text.add("strategy", options);
            const std::string name = "server" + std::to_string(through.rank());
            saves_.emplace().folder =
                (detail::absolute_path(options.servers.checkpoints) / name).string();
            kept_.emplace(saves_->folder, "parameter_server: " + name, text.text(), 2,
                          std::move(files));
            every_ = static_cast<std::uint64_t>(options.servers.every);
            job_ = options.servers.job;
            checkpoint::require_job_name("parameter_server", job_);
        }
        answered_.reserve(static_cast<std::size_t>(roles.workers()));
        prepare_order(options, tensors);
    }

    /// What workers must be configured by.
    void introduce(std::string configuration) { configuration_ = std::move(configuration); }

    /// Everything to be saved.
    void visit(auto&& field) {
        server_.visit(field);
        for (std::size_t worker = 0; worker < rounds_.size(); ++worker)
            field("rounds of worker " + std::to_string(worker), rounds_[worker]);
    }

    /// What training begins with; only the first time counts. While it is not known whether another
    /// job has the server's folder, it sends a head to each rank once a second to be in time.
    void begin(std::span<const float> parameters) {
        if (kept_)
            kept_->own(
                job_, [&](const std::string& why) { remarks::of_files(through_).say(why); },
                [&] { delay_all(); });
        if (!server_.has_begun()) {
            server_.begin(parameters);
            if (kept_ && kept_->restore(*this)) server_.restored();
            saved_at_ = began_at_ = server_.version();
            order_of_.version = server_.version();
            if (order_) order_->begin(order_of_);
            if (recorder_) recorder_->begin(order_of_);
        }
        // All at once: else the first would be a round of its own.
        for (int worker = 0; worker < roles_.workers(); ++worker)
            if (of(roles_.rank_of(worker)).is_here) server_.expect(worker);
        if (!due_) receive();
    }

    /// Takes what has come, and answers whom it may.
    void serve() {
        require_workers();
        while (due_ && !all_done_) {  // what comes then belongs to another time
            const auto ended = through_.poll(*due_);
            if (!ended) break;
            due_.reset();
            const auto content = byte_view(room_).first(static_cast<std::size_t>(ended->bytes));
            if (const int worker = roles_.worker_of(ended->source); order_ && worker >= 0) {
                order_->hold(worker, content);
                follow_order();
            } else {
                take(ended->source, content, through_.now());
            }
            if (!all_done_) receive();
        }
        if (order_)
            follow_order();
        else
            answer_all(through_.now());
        if (kept_ && server_.version() - saved_at_ >= every_) save();
        for (rank_state& r : ranks_) {
            settle(r.head_sent);
            settle(r.content_sent);
        }
    }

    // Where ranks may come and go

    /// `patience`: how long it waits where no worker is there any more, and none was done.
    void survive(duration patience) noexcept {
        survives_ = true;
        patience_ = patience;
    }
    /// `left`: it said that it is done.
    void went(int rank, bool left = false) {
        rank_state& r = of(rank);
        if (left && roles_.worker_of(rank) >= 0) was_done_ = true;
        if (!std::exchange(r.is_here, false)) return;
        settle(r.head_sent);
        settle(r.content_sent);
        if (const int worker = roles_.worker_of(rank); worker >= 0) {
            if (order_ && !r.is_done) order_->refuse_went(worker);
            if (recorder_ && !r.is_done) recorder_->went(worker, through_.now());
            server_.detach(worker);
            seen_.left(worker);
            count_pushes();
            if (!was_done_ && !has_workers()) {
                last_went_ = rank;
                alone_.emplace(through_.now());
            }
        }
        end_if_all_done();
    }
    /// A rank is there, or there again.
    void came(int rank) {
        if (roles_.worker_of(rank) >= 0) alone_.reset();
        of(rank).is_here = true;
        of(rank).is_done = false;
    }

    /// Whether all ranks were done, and have been sent the parameters.
    bool is_over() const noexcept {
        return all_done_ && std::none_of(ranks_.begin(), ranks_.end(), [](const rank_state& r) {
                   return r.head_sent || r.content_sent;
               });
    }
    /// A call of `fit` has ended, also by an exception: another trainer of this process may have
    /// the folder.
    void rest() noexcept {
        if (kept_) kept_->rest();
    }
    /// For another time.
    void begin_again() noexcept {
        all_done_ = was_done_ = false;
        server_.begin_again();
        for (rank_state& r : ranks_) r.is_done = false;
    }

    /// What it takes, and what it has seen until now.
    const server_memory& memory() const noexcept { return memory_; }
    /// What it did and saw so far.
    server_report report() const {
        server_report made =
            seen_.report(roles_, through_.rank(), server_.version(), server_.staleness());
        made.saves = saves_;
        if (recorder_) made.record_failure = recorder_->failure();
        return made;
    }

    /// What takes the steps.
    shard_server<Options>& server() noexcept { return server_; }
    /// What takes the steps.
    const shard_server<Options>& server() const noexcept { return server_; }

private:
    static constexpr std::size_t log_max = 65536;
    static constexpr bool compares =
        compares_parameters<std::remove_cvref_t<decltype(std::declval<Options>().compensator)>>;

    struct rank_state {
        bool is_here = true;
        bool is_done = false;
        std::array<std::byte, wire::parameters_header_bytes> head{};
        bytes refusal;
        std::optional<request> head_sent, content_sent;
    };

    rank_state& of(int rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }

    void receive() {
        due_ = through_.receive(
            any_rank, {channels::pushes, static_cast<std::uint32_t>(through_.rank()), 0}, room_);
    }

    bool has_workers() noexcept {
        for (int worker = 0; worker < roles_.workers(); ++worker)
            if (of(roles_.rank_of(worker)).is_here) return true;
        return false;
    }

    /// Nothing was trained to its end where every worker failed: they may come again, for a while.
    void require_workers() {
        if (alone_ && alone_->at(through_.now()) > patience_)
            throw peer_failure(last_went_,
                               "it went, the last of the workers, and none came again in time",
                               {.phase = "serve"});
    }

    /// Opens what is to be written or followed.
    void prepare_order(const Options& options, const layout& tensors) {
        const std::filesystem::path& record = options.servers.record_arrivals;
        const std::filesystem::path& replay = options.servers.replay_arrivals;
        if (record.empty() && replay.empty()) return;
        description text;
        text.add("strategy", options);
        for (const tensor& t : tensors) text.add("tensor " + t.name, t.size);
        const int server = through_.rank();
        order_of_ = {.server = server, .workers = roles_.workers(), .configuration = text.text()};
        if (!replay.empty()) order_.emplace(arrivals_path(replay, server), roles_.workers());
        if (record.empty()) return;
        const std::filesystem::path path = arrivals_path(record, server);
        recorder_.emplace(options.servers.survives ? free_arrivals_path(path) : path,
                          remarks::of_files(through_));
    }

    /// Takes and answers in the order that was recorded, as far as what has come allows.
    void follow_order() {
        while (const arrival* const next = order_->next()) {
            if (next->kind == arrival_kind::answers) {
                answer_all(order_->time());
                order_->answered(answered_);
            } else {
                const bytes* const push = order_->due();
                if (!push) return;
                const std::int64_t dropped = server_.dropped();
                take(roles_.rank_of(next->worker), *push, order_->time());
                order_->took(server_.dropped() > dropped, server_.version());
            }
        }
        order_->require_none();
    }

    /// A rank whose message cannot be read ends the job. Where ranks may leave, it leaves.
    void take(int rank, byte_view content, time_point now) {
        const auto read = [&] { take_in(rank, content, now); };
        if (survives_)
            detail::read_or_let_leave(through_, rank, read);
        else
            detail::read_from(through_, rank, read);
    }

    void take_in(int rank, byte_view content, time_point now) {
        const wire::push_header head = wire::read_push_header(content).value(
            [&] { return "what rank " + std::to_string(rank) + " sent to its server"; });
        const bool is_done = head.kind == wire::push_kind::done;
        const bool begins = wire::begins(head.kind);
        if (const int worker = roles_.worker_of(rank); worker >= 0) {
            // Of a process that went meanwhile: nobody waits for what comes of it.
            if (survives_ && !begins && !server_.is_present(worker)) return;
            push(worker, content, now);
            if (begins) count_lost(worker, head);
            if (is_done) was_done_ = true;
            if (begins && refuse(rank, wire::configuration_of(content))) return;
        } else if (!is_done) {
            throw malformed("what rank " + std::to_string(rank) + " sent to its server",
                            {0, "2, that it is done: it does not work", 0});
        }
        of(rank).is_done = is_done;
        end_if_all_done();
    }

    /// Whether a worker cannot take part; it is told why.
    bool refuse(int rank, const wire::configuration_summary& theirs) {
        const auto ours = wire::summary_of(configuration_);
        if (theirs == ours) return false;
        std::string why = detail::difference(rank, theirs.text, through_.rank(), ours.text);
        if (why.empty()) why = "they are configured differently, somewhere beyond 65536 bytes";
        bytes& refusal = of(rank).refusal;  // nothing of it is under way: the rank has pushed since
        refusal.assign(std::as_bytes(std::span(why)).begin(), std::as_bytes(std::span(why)).end());
        server_.detach(roles_.worker_of(rank));
        count_pushes();
        answer(rank, {.kind = wire::parameters_kind::refused, .size = refusal.size()}, refusal);
        return true;
    }

    /// A checkpoint from before what the worker has read lacks its rounds since then.
    void count_lost(int worker, const wire::push_header& head) {
        const auto had = static_cast<std::uint64_t>(rounds_[static_cast<std::size_t>(worker)]);
        if (began_at_ < head.read && had < head.round)
            seen_.lost(worker, static_cast<std::int64_t>(head.round - had));
    }

    void push(int worker, byte_view content, time_point now) {
        const std::int64_t dropped = server_.dropped();
        const std::uint64_t before = server_.version();
        const std::size_t gradients = server_.log().size();
        server_.push(worker, content, now);
        if (server_.version() > before)
            charge_step(static_cast<double>(content.size()),
                        static_cast<double>(server_.log().size() - gradients));
        if (recorder_)
            recorder_->took(worker, content, server_.dropped() > dropped, server_.version(), now);
        seen_.pushed(worker, now);
        count_pushes();
    }

    /// The memory that gradients and their step pass through: messages; the parameters, and what
    /// policies remember of each, read and written; what workers have read, where it is compared.
    /// Gradients of a round are added up before. A step by entries fetches a cache line for each
    /// place in place of all.
    void charge_step(double message, double gradients) {
        const auto own = static_cast<double>(server_.tensors().size());
        const bool in_rounds = gradients > 1.0;
        double touched = 8.0 * own;
        touched += 2.0 * static_cast<double>(memory_.optimizer + memory_.compensator);
        if (compares) touched += 4.0 * own;
        const auto moved = static_cast<double>(server_.moved());
        if (server_.moved() > 0) touched *= (std::min)(1.0, 16.0 * moved / own);
        if (in_rounds) touched += gradients * 8.0 * own;
        through_.charge({.bytes = gradients * message + touched});
    }

    /// What has changed is found in one pass over a bit a parameter; a cache line an entry.
    void charge_changes(double message) {
        const auto own = static_cast<double>(server_.tensors().size());
        through_.charge({.bytes = own / 4.0 + 12.0 * message});
    }

    /// Of gradients that were taken or dropped. One that waits for the others of its round has led
    /// to nothing: who goes on from a checkpoint without it must get it again.
    void count_pushes() {
        for (const served_push& p : server_.log().subspan(counted_)) {
            tell_of_dropped(p.worker, seen_.took(p.worker, p.applied == 0));
            rounds_[static_cast<std::size_t>(p.worker)] = static_cast<std::int64_t>(p.round) + 1;
        }
        counted_ = server_.log().size();
        if (counted_ < log_max) return;
        server_.forget_log();
        counted_ = 0;
    }

    /// The first of a worker, the 10th, the 100th: where rounds go without the last gradients they
    /// are many.
    void tell_of_dropped(int worker, std::int64_t count) {
        if (count == 0) return;
        for (std::int64_t told = count; told > 1; told /= 10)
            if (told % 10 != 0) return;
        says_.say("a gradient of rank " + std::to_string(roles_.rank_of(worker)) +
                  " came too late for its round and was dropped: " + std::to_string(count) +
                  " of its " + std::to_string(seen_.rounds(worker)) + " until now");
    }

    void end_if_all_done() {
        if (all_done_ || alone_) return;
        for (const rank_state& r : ranks_)
            if (r.is_here && !r.is_done) return;
        all_done_ = true;
        const bool has_trained = std::ranges::any_of(rounds_, [](auto had) { return had > 0; });
        std::fill(rounds_.begin(), rounds_.end(), 0);
        if (kept_ && server_.version() != saved_at_) save();
        const byte_view own = std::as_bytes(server_.own());
        for (int to = 0; to < through_.size(); ++to)
            if (of(to).is_here)
                answer(to, {.taken = has_trained, .version = server_.version(), .size = own.size()},
                       own);
    }

    /// A disk that fails ends nothing: it is tried again when the next one is due.
    void save() {
        saved_at_ = server_.version();
        const auto step = static_cast<std::int64_t>(saved_at_);
        if (kept_->save(*this, step)) {
            ++saves_->written;
            saves_->last_step = step;
            return;
        }
        ++saves_->failed;
        saves_->failure = kept_->problem();
        remarks::of_files(through_).say("what the server held after step " + std::to_string(step) +
                                        " was not saved: " + kept_->problem() +
                                        "; training goes on");
    }

    void answer_all(time_point now) {
        answered_.clear();
        while (auto due = server_.next_answer(now)) {
            seen_.answered(due->worker, now);
            answered_.push_back(due->worker);
            const auto had = rounds_[static_cast<std::size_t>(due->worker)];
            due->head.rounds = static_cast<std::uint64_t>(had);
            if (due->head.kind == wire::parameters_kind::changed)
                charge_changes(static_cast<double>(due->content.size()));
            answer(roles_.rank_of(due->worker), due->head, due->content);
        }
        if (recorder_) recorder_->answered(answered_, now);
    }

    /// Sends to each other rank that this server is not ready yet.
    void delay_all() {
        for (int to = 0; to < through_.size(); ++to) {
            rank_state& r = of(to);
            if (to == through_.rank()) continue;
            settle(r.head_sent);
            if (r.head_sent) continue;  // the rank has not received the last one
            unless_gone(to, [&] { send_head(to, {.kind = wire::parameters_kind::not_yet}); });
        }
    }

    /// The head before it must have been sent.
    void send_head(int rank, const wire::parameters_header& head) {
        rank_state& r = of(rank);
        const auto item = static_cast<std::uint32_t>(2 * through_.rank());
        wire::write_parameters_header(head, r.head.data());
        r.head_sent = through_.send(rank, {channels::parameters, item, 0}, r.head);
    }

    /// Sends to a rank, which may be gone where that is survived: the transport reports it.
    void unless_gone(int rank, auto send) {
        try {
            send();
        } catch (const peer_failure& e) {
            if (e.rank() != rank || !survives_) throw;
        }
    }

    void answer(int rank, const wire::parameters_header& head, byte_view content) {
        rank_state& r = of(rank);
        const auto item = static_cast<std::uint32_t>(2 * through_.rank() + 1);
        unless_gone(rank, [&] {
            // What went before has been received: the rank has pushed since.
            if (r.head_sent) through_.wait(*std::exchange(r.head_sent, std::nullopt));
            if (r.content_sent) through_.wait(*std::exchange(r.content_sent, std::nullopt));
            send_head(rank, head);
            r.content_sent = through_.send(rank, {channels::parameters, item, 0}, content);
        });
    }

    void settle(std::optional<request>& sent) {
        if (!sent) return;
        try {
            if (through_.poll(*sent)) sent.reset();
        } catch (const peer_failure&) {
            if (!survives_) throw;
            sent.reset();
        }
    }

    transport_ref through_;
    server_roles roles_;
    shard_server<Options> server_;
    server_memory memory_;
    served_record seen_;
    remarks says_;
    std::vector<rank_state> ranks_;
    std::size_t counted_ = 0;           // of the server's log
    std::vector<std::int64_t> rounds_;  // of each worker, since `fit` began
    std::string configuration_;
    large_vector<std::byte> room_;
    std::optional<request> due_;
    bool all_done_ = false;
    bool survives_ = false;
    bool was_done_ = false;  // a worker, in this `fit`
    duration patience_{};
    std::optional<waiting_time> alone_;  // since no worker is there, and none was done
    int last_went_ = 0;
    std::vector<int> answered_;  // by the last look at who may go
    arrivals_of order_of_;
    std::optional<arrival_recorder> recorder_;
    std::optional<arrival_order> order_;  // that is followed
    std::optional<checkpoint::own_state> kept_;
    std::string job_;                                        // that owns its folder
    std::optional<server_saves> saves_;                      // by it
    std::uint64_t every_ = 0, saved_at_ = 0, began_at_ = 0;  // versions
};

}  // namespace sotto::detail
