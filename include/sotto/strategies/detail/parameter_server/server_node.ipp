#pragma once

#include "sotto/strategies/detail/parameter_server/server_node.hpp"

#include "sotto/checkpoint/detail/job_name.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/detail/files/join_path.hpp"
#include "sotto/core/detail/memory/difference.hpp"
#include "sotto/strategies/parameter_server/arrival_paths.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"

namespace sotto::detail {

SOTTO_DECL server_node::server_node(served of, const serving& how, const server_roles& roles,
                                    transport_ref through, checkpoint::disk files)
    : through_(through),
      roles_(roles),
      server_(std::move(of.part)),
      memory_(of.memory),
      compares_(of.compares),
      seen_(roles.workers()),
      says_(diagnostics::of(through)),
      ranks_(static_cast<std::size_t>(through.size())),
      rounds_(static_cast<std::size_t>(roles.workers())) {
    room_.resize(static_cast<std::size_t>(of.push_bytes_max));
    if (!how.checkpoints.empty()) {
        if (!of.can_be_saved)
            throw invalid_option(
                "parameter_server: checkpoints, but the optimizer has no visit(field), which "
                "shows everything to be saved: what it remembers would be lost");
        const std::string name = "server" + std::to_string(through.rank());
        saves_.emplace().folder = detail::join_path(detail::absolute_path(how.checkpoints), name);
        kept_.emplace(saves_->folder, "parameter_server: " + name, std::move(of.description), 2,
                      std::move(files));
        every_ = static_cast<std::uint64_t>(how.every);
        job_ = how.job;
        checkpoint::require_job_name("parameter_server", job_);
    }
    answered_.reserve(static_cast<std::size_t>(roles.workers()));
    prepare_order(how, std::move(of.with_tensors));
}

SOTTO_DECL void server_node::visit(const field_visitor& field) {
    server_->show(field);
    for (std::size_t worker = 0; worker < rounds_.size(); ++worker)
        field("rounds of worker " + std::to_string(worker), rounds_[worker]);
}

SOTTO_DECL void server_node::begin(std::span<const float> parameters) {
    if (kept_)
        kept_->own(
            job_, [&](const std::string& why) { diagnostics::of_files(through_).say(why); },
            [&] { delay_all(); });
    if (!server_->has_begun()) {
        server_->begin(parameters);
        if (kept_ && kept_->restore(*this)) server_->restored();
        saved_at_ = began_at_ = server_->version();
        order_of_.version = server_->version();
        if (order_) order_->begin(order_of_);
        if (recorder_) recorder_->begin(order_of_);
    }
    // All at once: else the first would be a round of its own.
    for (int worker = 0; worker < roles_.workers(); ++worker)
        if (of(roles_.rank_of(worker)).is_here) server_->expect(worker);
    if (!due_) receive();
}

SOTTO_DECL void server_node::serve() {
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
    if (kept_ && server_->version() - saved_at_ >= every_) save();
    for (rank_state& r : ranks_) {
        settle(r.head_sent);
        settle(r.content_sent);
    }
}

SOTTO_DECL void server_node::survive(duration patience) noexcept {
    survives_ = true;
    patience_ = patience;
}

SOTTO_DECL void server_node::went(int rank, bool left) {
    rank_state& r = of(rank);
    if (left && roles_.worker_of(rank) >= 0) was_done_ = true;
    if (!std::exchange(r.is_here, false)) return;
    settle(r.head_sent);
    settle(r.content_sent);
    if (const int worker = roles_.worker_of(rank); worker >= 0) {
        if (order_ && !r.is_done) order_->refuse_went(worker);
        if (recorder_ && !r.is_done) recorder_->went(worker, through_.now());
        server_->detach(worker);
        seen_.left(worker);
        count_pushes();
        if (!was_done_ && !has_workers()) {
            last_went_ = rank;
            alone_.emplace(through_.now());
        }
    }
    end_if_all_done();
}

SOTTO_DECL void server_node::came(int rank) {
    if (roles_.worker_of(rank) >= 0) alone_.reset();
    of(rank).is_here = true;
    of(rank).is_done = false;
}

SOTTO_DECL bool server_node::is_over() const noexcept {
    return all_done_ && std::none_of(ranks_.begin(), ranks_.end(), [](const rank_state& r) {
               return r.head_sent || r.content_sent;
           });
}

SOTTO_DECL void server_node::rest() noexcept {
    if (kept_) kept_->rest();
}

SOTTO_DECL void server_node::begin_again() noexcept {
    all_done_ = was_done_ = false;
    server_->begin_again();
    for (rank_state& r : ranks_) r.is_done = false;
}

SOTTO_DECL server_report server_node::report() const {
    server_report made =
        seen_.report(roles_, through_.rank(), server_->version(), server_->staleness());
    made.saves = saves_;
    if (recorder_) made.record_failure = recorder_->failure();
    return made;
}

SOTTO_DECL void server_node::receive() {
    due_ = through_.receive(
        any_rank, {channels::pushes, static_cast<std::uint32_t>(through_.rank()), 0}, room_);
}

SOTTO_DECL bool server_node::has_workers() noexcept {
    for (int worker = 0; worker < roles_.workers(); ++worker)
        if (of(roles_.rank_of(worker)).is_here) return true;
    return false;
}

SOTTO_DECL void server_node::require_workers() {
    if (alone_ && alone_->at(through_.now()) > patience_)
        throw peer_failure(last_went_,
                           "it went, the last of the workers, and none came again in time",
                           {.phase = "serve"});
}

SOTTO_DECL void server_node::prepare_order(const serving& how, std::string configuration) {
    const std::string& record = how.record_arrivals;
    const std::string& replay = how.replay_arrivals;
    if (record.empty() && replay.empty()) return;
    const int server = through_.rank();
    order_of_ = {
        .server = server, .workers = roles_.workers(), .configuration = std::move(configuration)};
    if (!replay.empty()) order_.emplace(arrivals_path(replay, server), roles_.workers());
    if (record.empty()) return;
    const std::string path = arrivals_path(record, server);
    recorder_.emplace(how.survives ? free_arrivals_path(path) : path,
                      diagnostics::of_files(through_));
}

SOTTO_DECL void server_node::follow_order() {
    while (const arrival* const next = order_->next()) {
        if (next->kind == arrival_kind::answers) {
            answer_all(order_->time());
            order_->answered(answered_);
        } else {
            const bytes* const push = order_->due();
            if (!push) return;
            const std::int64_t dropped = server_->dropped();
            take(roles_.rank_of(next->worker), *push, order_->time());
            order_->took(server_->dropped() > dropped, server_->version());
        }
    }
    order_->require_none();
}

SOTTO_DECL void server_node::take(int rank, byte_view content, time_point now) {
    const auto read = [&] { take_in(rank, content, now); };
    if (survives_)
        detail::read_or_let_leave(through_, rank, read);
    else
        detail::read_from(through_, rank, read);
}

SOTTO_DECL void server_node::take_in(int rank, byte_view content, time_point now) {
    const wire::push_header head = wire::read_push_header(content).value(
        [&] { return "what rank " + std::to_string(rank) + " sent to its server"; });
    const bool is_done = head.kind == wire::push_kind::done;
    const bool begins = wire::begins(head.kind);
    if (const int worker = roles_.worker_of(rank); worker >= 0) {
        // It was sent by a process that has ended since: its answer would reach no one.
        if (survives_ && !begins && !server_->is_present(worker)) return;
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

SOTTO_DECL bool server_node::refuse(int rank, const wire::configuration_summary& theirs) {
    const auto ours = wire::summary_of(configuration_);
    if (theirs == ours) return false;
    std::string why = detail::difference(rank, theirs.text, through_.rank(), ours.text);
    if (why.empty()) why = "they are configured differently, somewhere beyond 65536 bytes";
    bytes& refusal = of(rank).refusal;  // nothing of it is under way: the rank has pushed since
    refusal.assign(std::as_bytes(std::span(why)).begin(), std::as_bytes(std::span(why)).end());
    server_->detach(roles_.worker_of(rank));
    count_pushes();
    answer(rank, {.kind = wire::parameters_kind::refused, .size = refusal.size()}, refusal);
    return true;
}

SOTTO_DECL void server_node::count_lost(int worker, const wire::push_header& head) {
    const auto had = static_cast<std::uint64_t>(rounds_[static_cast<std::size_t>(worker)]);
    if (began_at_ < head.read && had < head.round)
        seen_.lost(worker, static_cast<std::int64_t>(head.round - had));
}

SOTTO_DECL void server_node::push(int worker, byte_view content, time_point now) {
    const std::int64_t dropped = server_->dropped();
    const std::uint64_t before = server_->version();
    const std::size_t gradients = server_->log().size();
    server_->push(worker, content, now);
    if (server_->version() > before)
        charge_step(static_cast<double>(content.size()),
                    static_cast<double>(server_->log().size() - gradients));
    if (recorder_)
        recorder_->took(worker, content, server_->dropped() > dropped, server_->version(), now);
    seen_.pushed(worker, now);
    count_pushes();
}

SOTTO_DECL void server_node::charge_step(double message, double gradients) {
    const auto own = static_cast<double>(server_->tensors().size());
    const bool in_rounds = gradients > 1.0;
    double touched = 8.0 * own;
    touched += 2.0 * static_cast<double>(memory_.optimizer + memory_.compensator);
    if (compares_) touched += 4.0 * own;
    const auto moved = static_cast<double>(server_->moved());
    if (server_->moved() > 0) touched *= (std::min)(1.0, 16.0 * moved / own);
    if (in_rounds) touched += gradients * 8.0 * own;
    through_.charge({.bytes = gradients * message + touched});
}

SOTTO_DECL void server_node::charge_changes(double message) {
    const auto own = static_cast<double>(server_->tensors().size());
    through_.charge({.bytes = own / 4.0 + 12.0 * message});
}

SOTTO_DECL void server_node::count_pushes() {
    for (const served_push& p : server_->log().subspan(counted_)) {
        tell_of_dropped(p.worker, seen_.took(p.worker, p.applied == 0));
        rounds_[static_cast<std::size_t>(p.worker)] = static_cast<std::int64_t>(p.round) + 1;
    }
    counted_ = server_->log().size();
    if (counted_ < log_max) return;
    server_->forget_log();
    counted_ = 0;
}

SOTTO_DECL void server_node::tell_of_dropped(int worker, std::int64_t count) {
    if (count == 0) return;
    for (std::int64_t told = count; told > 1; told /= 10)
        if (told % 10 != 0) return;
    says_.say("a gradient of rank " + std::to_string(roles_.rank_of(worker)) +
              " came too late for its round and was dropped: " + std::to_string(count) +
              " of its " + std::to_string(seen_.rounds(worker)) + " until now");
}

SOTTO_DECL void server_node::end_if_all_done() {
    if (all_done_ || alone_) return;
    for (const rank_state& r : ranks_)
        if (r.is_here && !r.is_done) return;
    all_done_ = true;
    const bool has_trained = std::ranges::any_of(rounds_, [](auto had) { return had > 0; });
    std::fill(rounds_.begin(), rounds_.end(), 0);
    if (kept_ && server_->version() != saved_at_) save();
    const byte_view own = std::as_bytes(server_->own());
    for (int to = 0; to < through_.size(); ++to)
        if (of(to).is_here)
            answer(to, {.taken = has_trained, .version = server_->version(), .size = own.size()},
                   own);
}

SOTTO_DECL void server_node::save() {
    saved_at_ = server_->version();
    const auto step = static_cast<std::int64_t>(saved_at_);
    if (kept_->save(*this, step)) {
        ++saves_->written;
        saves_->last_step = step;
        return;
    }
    ++saves_->failed;
    saves_->failure = kept_->problem();
    diagnostics::of_files(through_).say("what the server held after step " + std::to_string(step) +
                                        " was not saved: " + kept_->problem() +
                                        "; training goes on");
}

SOTTO_DECL void server_node::answer_all(time_point now) {
    answered_.clear();
    while (auto due = server_->next_answer(now)) {
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

SOTTO_DECL void server_node::delay_all() {
    for (int to = 0; to < through_.size(); ++to) {
        rank_state& r = of(to);
        if (to == through_.rank()) continue;
        settle(r.head_sent);
        if (r.head_sent) continue;  // the rank has not received the last one
        unless_gone(to, [&] { send_head(to, {.kind = wire::parameters_kind::not_yet}); });
    }
}

SOTTO_DECL void server_node::send_head(int rank, const wire::parameters_header& head) {
    rank_state& r = of(rank);
    const auto item = static_cast<std::uint32_t>(2 * through_.rank());
    wire::write_parameters_header(head, r.head.data());
    r.head_sent = through_.send(rank, {channels::parameters, item, 0}, r.head);
}

SOTTO_DECL void server_node::answer(int rank, const wire::parameters_header& head,
                                    byte_view content) {
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

SOTTO_DECL void server_node::settle(std::optional<request>& sent) {
    if (!sent) return;
    try {
        if (through_.poll(*sent)) sent.reset();
    } catch (const peer_failure&) {
        if (!survives_) throw;
        sent.reset();
    }
}

}  // namespace sotto::detail
