#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/arithmetic.hpp"
#include "sotto/kernels/reductions.hpp"
#include "sotto/strategies/shard.hpp"
#include "sotto/strategies/shard_server.hpp"
#include "sotto/strategies/stopwatch.hpp"
#include "sotto/strategies/work_of_gradient.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/push.hpp"
#include "sotto/wire/sparse_block.hpp"

namespace sotto {

/// Which ranks serve and which work.
class server_roles {
public:
    server_roles(int servers, bool dedicated, int rank, int ranks)
        : servers_(servers), first_worker_(dedicated ? servers : 0), rank_(rank), ranks_(ranks) {
        if (servers < 1 || servers > ranks)
            throw invalid_option("parameter_server: " + std::to_string(servers) +
                                 " servers among " + std::to_string(ranks) +
                                 " ranks; 1 to all of them are possible");
        if (workers() < 1)
            throw invalid_option("parameter_server: " + std::to_string(servers) +
                                 " dedicated servers are all ranks; one at least must work");
    }

    int servers() const noexcept { return servers_; }
    int workers() const noexcept { return ranks_ - first_worker_; }
    bool serves() const noexcept { return rank_ < servers_; }
    bool works() const noexcept { return rank_ >= first_worker_; }
    int own_worker() const noexcept { return rank_ - first_worker_; }

    /// -1 for a rank that does not work.
    int worker_of(int rank) const noexcept {
        return rank >= first_worker_ ? rank - first_worker_ : -1;
    }
    int rank_of(int worker) const noexcept { return worker + first_worker_; }

private:
    int servers_, first_worker_, rank_, ranks_;
};

/// One rank's side of parameter_server: a worker, a server, or both, which then serves whenever it
/// waits, and between the tensors whose gradients it computes.
template <class Options, class Transport>
class parameter_server_state {
    using compressor_options = std::remove_cvref_t<decltype(std::declval<Options>().compressor)>;

public:
    parameter_server_state(const Options& options, const layout& tensors, Transport& through)
        : tensors_(tensors),
          through_(&through),
          roles_(options.servers.servers, options.servers.dedicated, through.rank(),
                 through.size()),
          shards_(shards_of(tensors_, roles_.servers())),
          compressor_(options.compressor.bind(tensors_)),
          gradient_(static_cast<std::size_t>(tensors.size())),
          read_(static_cast<std::size_t>(tensors.size())),
          tensor_bytes_(tensors.tensors().size()),
          links_(shards_.size()) {
        if (roles_.serves()) {
            const shard& own = shards_[static_cast<std::size_t>(through.rank())];
            server_.emplace(options, tensors_, own, roles_.workers());
            std::size_t largest = wire::push_head_bytes(own.tensors());
            for (const tensor& t : own.of(tensors_))
                largest += static_cast<std::size_t>(compressing::message_bytes_max(compressor_, t));
            push_room_.resize(largest);
            done_.resize(static_cast<std::size_t>(through.size()));
            answers_.resize(static_cast<std::size_t>(through.size()));
        }
        through.reserve(4 * std::int64_t{roles_.servers()} + 2 * std::int64_t{through.size()} + 1);
    }

    data::share share() const noexcept {
        if (!roles_.works()) return {0, 0};
        return {roles_.own_worker(), roles_.workers()};
    }

    epoch_agreement begin_epoch(const epoch_plan& plan) {
        return {.rounds = plan.examples / plan.batch_size + (plan.examples % plan.batch_size != 0),
                .stop = plan.stop != 0};
    }

    template <class Model>
    round_report round(task<Model>& job, std::span<float> parameters) {
        return guarded([&] { return attempt(job, parameters); });
    }

    /// Serves until all ranks are done; then all hold the same parameters.
    void finish(std::span<float> parameters) {
        guarded([&] {
            begin_serving(parameters);
            at("finish");
            for (std::size_t s = 0; s < links_.size(); ++s) ask(s, wire::push_kind::done, 0.0);
            wait_for_answers();
            is_attached_ = false;
            std::copy(read_.begin(), read_.end(), parameters.begin());
            if (server_) {
                wait_until([&] { return answers_under_way() == 0; });
                end_serving();
            }
        });
    }

    const auto& compressor() const noexcept { return compressor_; }
    /// Null where this rank does not serve.
    const shard_server<Options>* server() const noexcept { return server_ ? &*server_ : nullptr; }
    const server_roles& roles() const noexcept { return roles_; }

private:
    /// What is under way between this rank and one server.
    struct link {
        bytes push;
        std::optional<request> sent, head_due, values_due;
        std::array<std::byte, wire::parameters_header_bytes> head_memory{};
        wire::parameters_header head{};
        bytes changes;
        bool is_answered = true;
    };

    /// What is under way from this server to one rank.
    struct answer_under_way {
        std::array<std::byte, wire::parameters_header_bytes> head{};
        std::optional<request> head_sent, values_sent;
    };

    template <class Action>
    auto guarded(Action action) -> decltype(action()) {
        try {
            return action();
        } catch (const peer_failure&) {
            undo();
            throw;
        } catch (const std::exception& e) {
            undo();
            if (through_->size() > 1) through_->fail(e.what());
            throw;
        } catch (...) {
            undo();
            if (through_->size() > 1) through_->fail("it threw something that is no std::exception");
            throw;
        }
    }

    void undo() noexcept { compressing::rollback(compressor_); }

    template <class Model>
    round_report attempt(task<Model>& job, std::span<float> parameters) {
        step_ = job.step;
        began_ = through_->now();
        const traffic before = through_->counters();
        stopwatch<Transport> watch(*through_);
        begin_serving(parameters);
        if (!is_attached_) {
            at("attach");
            for (std::size_t s = 0; s < links_.size(); ++s) ask(s, wire::push_kind::attach, 0.0);
            wait_for_answers();
            std::copy(read_.begin(), read_.end(), parameters.begin());
            is_attached_ = true;
        }
        round_report report{.examples = job.examples, .dense_bytes = 4 * tensors_.size()};
        report.wait = watch.lap();

        at("compute");
        compressing::begin_round(compressor_, {.step = rounds_, .epoch = job.epoch,
                                               .rank = roles_.own_worker(),
                                               .world_size = 1, .share = 1.0});
        gradient_work<Transport> computed(*through_, job);
        report.loss = job.model.gradient(parameters, job.batch, std::span<float>(gradient_),
                                         [&](const tensor& t) {
                                             computed.is_ready(t);
                                             serve();
                                         });
        computed.end();
        report.compute = watch.lap();

        weigh();
        for (std::size_t s = links_.size(); s-- > 0;) push(s, job.epoch);
        report.compress = watch.lap();

        at("wait");
        wait_for_answers();
        report.wait += watch.lap();

        bool taken = true;
        for (const link& l : links_) {
            taken = taken && l.head.taken;
            report.staleness = std::max(report.staleness,
                                        static_cast<std::int64_t>(l.head.staleness));
        }
        if (taken)
            compressing::commit(compressor_);
        else
            compressing::rollback(compressor_);
        report.dropped = !taken;
        std::copy(read_.begin(), read_.end(), parameters.begin());
        ++rounds_;
        report.apply = watch.lap();

        const traffic after = through_->counters();
        report.bytes_sent = after.bytes_sent - before.bytes_sent;
        report.bytes_received = after.bytes_received - before.bytes_received;
        for (const std::int64_t size : tensor_bytes_) report.message_bytes += size;
        report.tensor_message_bytes = tensor_bytes_;
        report.began = began_;
        report.ended = through_->now() - began_;
        return report;
    }

    void at(const char* phase) noexcept { through_->at({.round = step_, .phase = phase}); }

    // As a worker

    /// Refuses what is no number before anything of it is remembered.
    void weigh() {
        for (const tensor& t : tensors_) {
            const auto part = t.of(std::span<const float>(gradient_));
            const double squares = kernels::sum_of_squares(part);
            if (!kernels::is_finite(squares))
                throw non_finite(through_->rank(), t.name, kernels::first_non_finite(part));
            compressing::measured(compressor_, t, squares);
        }
    }

    void push(std::size_t s, double epoch) {
        link& l = links_[s];
        const shard& part = shards_[s];
        const std::size_t head = wire::push_head_bytes(part.tensors());
        sizes_.clear();
        l.push.resize(head);
        for (const tensor& t : part.of(tensors_)) {
            const std::size_t begin = l.push.size();
            compressor_.encode(t, t.of(std::span<const float>(gradient_)), l.push);
            sizes_.push_back(l.push.size() - begin);
            tensor_bytes_[static_cast<std::size_t>(t.index)] =
                static_cast<std::int64_t>(sizes_.back());
        }
        send_push(s, wire::push_kind::gradient, epoch);
    }

    void ask(std::size_t s, wire::push_kind kind, double epoch) {
        sizes_.clear();
        links_[s].push.resize(wire::push_head_bytes(0));
        send_push(s, kind, epoch);
    }

    void send_push(std::size_t s, wire::push_kind kind, double epoch) {
        link& l = links_[s];
        wire::write_push_head({.kind = kind,
                               .round = static_cast<std::uint64_t>(rounds_),
                               .read = l.head.version,
                               .epoch = epoch},
                              sizes_, l.push.data());
        const int server = static_cast<int>(s);
        const auto item = static_cast<std::uint32_t>(2 * s);
        l.is_answered = false;
        l.head_due = through_->receive(server, {channels::parameters, item, 0}, l.head_memory);
        l.sent = through_->send(server, {channels::pushes, static_cast<std::uint32_t>(s), 0},
                                l.push);
    }

    void wait_for_answers() {
        wait_until([&] {
            bool all = true;
            for (std::size_t s = 0; s < links_.size(); ++s) all = look_at(s) && all;
            return all;
        });
    }

    /// Whether a server's answer is here.
    bool look_at(std::size_t s) {
        link& l = links_[s];
        if (l.sent && through_->poll(*l.sent)) l.sent.reset();
        if (l.head_due && through_->poll(*l.head_due)) {
            l.head_due.reset();
            l.head = wire::read_parameters_header(l.head_memory).value([&] {
                return "what server " + std::to_string(s) + " answered";
            });
            l.values_due = through_->receive(
                static_cast<int>(s),
                {channels::parameters, static_cast<std::uint32_t>(2 * s + 1), 0}, room_for(s));
        }
        if (l.values_due && through_->poll(*l.values_due)) {
            l.values_due.reset();
            l.is_answered = true;
            if (l.head.kind == wire::parameters_kind::changed) apply_changes(s);
        }
        return l.is_answered && !l.sent;
    }

    /// Where a server's parameters go: all of them to their place.
    mutable_byte_view room_for(std::size_t s) {
        link& l = links_[s];
        const auto whole = std::as_writable_bytes(values_of(s));
        const bool changed = l.head.kind == wire::parameters_kind::changed;
        // A changed parameter takes its value and less than 8 bytes for its index.
        if (changed ? l.head.size > 3 * whole.size() + 64 : l.head.size != whole.size())
            throw malformed("what server " + std::to_string(s) + " answered",
                            {24, "bytes of its parameters", static_cast<std::int64_t>(l.head.size),
                             static_cast<std::int64_t>(whole.size())});
        if (!changed) return whole;
        l.changes.resize(static_cast<std::size_t>(l.head.size));
        return l.changes;
    }

    void apply_changes(std::size_t s) {
        const auto values = values_of(s);
        const auto n = static_cast<std::int64_t>(values.size());
        const auto peeked = wire::peek_sparse(links_[s].changes).value("a server's answer");
        const auto count = static_cast<std::size_t>(std::min(peeked.entries, n));
        changed_at_.resize(count);
        changed_to_.resize(count);
        const auto entries =
            wire::decode_sparse(links_[s].changes, n, std::span<std::uint32_t>(changed_at_),
                                std::span<float>(changed_to_))
                .value("a server's answer");
        for (std::size_t k = 0; k < entries.indices.size(); ++k)
            values[entries.indices[k]] = entries.values[k];
    }

    std::span<float> values_of(std::size_t s) noexcept {
        return shards_[s].of(tensors_, std::span<float>(read_));
    }

    template <class Done>
    void wait_until(Done done) {
        while (true) {
            const std::uint64_t seen = through_->activity();
            serve();
            if (done()) return;
            if (through_->activity() == seen) through_->await(seen);
        }
    }

    // As a server

    void begin_serving(std::span<const float> parameters) {
        if (!server_ || push_due_) return;
        if (!server_->has_begun()) server_->begin(parameters);
        // All at once: else the first would be a round of its own.
        for (int worker = 0; worker < roles_.workers(); ++worker) server_->expect(worker);
        receive_push();
    }

    void receive_push() {
        push_due_ = through_->receive(
            any_rank, {channels::pushes, static_cast<std::uint32_t>(through_->rank()), 0},
            push_room_);
    }

    /// Takes what has come, and answers whom it may.
    void serve() {
        if (!server_) return;
        while (push_due_) {
            const auto ended = through_->poll(*push_due_);
            if (!ended) break;
            push_due_.reset();
            take(ended->source,
                 byte_view(push_room_).first(static_cast<std::size_t>(ended->bytes)));
            if (done_count_ < through_->size()) receive_push();
        }
        while (const auto due = server_->next_answer(through_->now()))
            answer(roles_.rank_of(due->worker), due->head, due->content);
        for (answer_under_way& a : answers_) {
            if (a.head_sent && through_->poll(*a.head_sent)) a.head_sent.reset();
            if (a.values_sent && through_->poll(*a.values_sent)) a.values_sent.reset();
        }
    }

    void take(int rank, byte_view content) {
        const int worker = roles_.worker_of(rank);
        const bool is_done = content.size() >= 4 && content[0] == std::byte{2};
        if (worker >= 0) server_->push(worker, content, through_->now());
        if (!is_done) {
            if (worker < 0)
                throw malformed("what rank " + std::to_string(rank) + " sent to its server",
                                {0, "2, since it does not work, but serves", 0});
            return;
        }
        if (done_[static_cast<std::size_t>(rank)])
            throw malformed("what rank " + std::to_string(rank) + " sent to its server",
                            {0, "nothing more: it was done", 2});
        done_[static_cast<std::size_t>(rank)] = true;
        if (++done_count_ < through_->size()) return;
        const auto own = server_->own();
        for (int to = 0; to < through_->size(); ++to)
            answer(to,
                   {.version = server_->version(), .size = own.size_bytes()},
                   std::as_bytes(own));
    }

    void answer(int rank, const wire::parameters_header& head, byte_view content) {
        answer_under_way& a = answers_[static_cast<std::size_t>(rank)];
        const auto item = static_cast<std::uint32_t>(2 * through_->rank());
        // What went before has been received: the rank has pushed since.
        if (a.head_sent) through_->wait(*a.head_sent);
        if (a.values_sent) through_->wait(*a.values_sent);
        wire::write_parameters_header(head, a.head.data());
        a.head_sent = through_->send(rank, {channels::parameters, item, 0}, a.head);
        a.values_sent = through_->send(rank, {channels::parameters, item + 1, 0}, content);
    }

    std::size_t answers_under_way() const noexcept {
        std::size_t count = 0;
        for (const answer_under_way& a : answers_) count += a.head_sent || a.values_sent ? 1 : 0;
        return count;
    }

    void end_serving() {
        std::fill(done_.begin(), done_.end(), false);
        done_count_ = 0;
    }

    layout tensors_;
    Transport* through_;
    server_roles roles_;
    std::vector<shard> shards_;
    state_of<compressor_options> compressor_;
    large_vector<float> gradient_;
    large_vector<float> read_;  // the parameters as the servers sent them
    std::vector<std::int64_t> tensor_bytes_;
    std::vector<std::uint64_t> sizes_;
    std::vector<std::uint32_t> changed_at_;
    std::vector<float> changed_to_;
    std::deque<link> links_;
    std::int64_t rounds_ = 0;
    std::int64_t step_ = 0;
    time_point began_{};
    bool is_attached_ = false;

    std::optional<shard_server<Options>> server_;
    bytes push_room_;
    std::optional<request> push_due_;
    std::vector<bool> done_;
    int done_count_ = 0;
    std::deque<answer_under_way> answers_;
};

}  // namespace sotto
