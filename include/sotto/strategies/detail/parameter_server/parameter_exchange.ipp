#pragma once

#include "sotto/strategies/detail/parameter_server/parameter_exchange.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

SOTTO_DECL parameter_exchange::parameter_exchange(const layout& tensors, const layout& worked,
                                                  const server_roles& roles, transport_ref through,
                                                  message_codec& codec, const serving& how,
                                                  double remembered)
    : tensors_(tensors),
      through_(through),
      says_(diagnostics::of(through)),
      roles_(roles),
      codec_(codec),
      shards_(shards_of(tensors_, roles_.servers())),
      gradient_(static_cast<std::size_t>(worked.size())),
      read_(static_cast<std::size_t>(tensors.size())),
      tensor_bytes_(tensors.tensors().size()),
      remembered_(remembered) {
    patience_ = survive(how);
    for (int s = 0; s < roles_.servers(); ++s)
        links_.emplace_back(
            through, s, shards_[static_cast<std::size_t>(s)].of(tensors_, std::span<float>(read_)),
            patience_);
}

SOTTO_DECL const shard& parameter_exchange::own_shard() const noexcept {
    return shards_[static_cast<std::size_t>(through_.rank())];
}

SOTTO_DECL void parameter_exchange::serve_by(std::unique_ptr<server_node> serving) {
    serving_ = std::move(serving);
    if (serving_ && survives_) serving_->survive(patience_);
    through_.reserve(4 * std::int64_t{roles_.servers()} + 2 * std::int64_t{through_.size()} + 1);
}

SOTTO_DECL bool parameter_exchange::introduce(const std::string& configuration) {
    if (!survives_) return false;
    for (auto& l : links_) l.introduce(configuration);
    if (serving_) serving_->introduce(configuration);
    return true;
}

SOTTO_DECL std::int64_t parameter_exchange::begin(std::span<float> parameters) {
    if (serving_) serving_->begin(parameters);
    if (!roles_.works()) return std::int64_t{0};
    at("attach");
    for (auto& l : links_) l.push({.kind = wire::push_kind::attach}, {});
    wait_for_answers();
    std::copy(read_.begin(), read_.end(), parameters.begin());
    std::uint64_t had = 0;
    for (const auto& l : links_) had = (std::max)(had, l.answer().rounds);
    clock_ = 0;
    catch_up();
    return rounds_ = static_cast<std::int64_t>(had);
}

SOTTO_DECL void parameter_exchange::finish(std::span<float> parameters) {
    at("finish");
    for (auto& l : links_) l.push({.kind = wire::push_kind::done}, {});
    wait_for_answers();
    std::copy(read_.begin(), read_.end(), parameters.begin());
    if (!serving_) return;
    wait_until([&] { return serving_->is_over(); });
    serving_->begin_again();
}

SOTTO_DECL bool parameter_exchange::has_trained() const noexcept {
    return rounds_ > 0 || survives_ ||
           std::any_of(links_.begin(), links_.end(),
                       [](const server_link& l) { return l.answer().taken; });
}

SOTTO_DECL void parameter_exchange::end_fit() noexcept {
    if (serving_) serving_->rest();
}

SOTTO_DECL round_report parameter_exchange::begin_round(std::int64_t step, std::int64_t examples) {
    step_ = step;
    began_ = through_.now();
    before_ = through_.counters();
    at("compute");
    return {.examples = examples, .dense_bytes = 4 * tensors_.size()};
}

SOTTO_DECL round_info parameter_exchange::as_worker(double epoch) const noexcept {
    return {.step = rounds_,
            .epoch = epoch,
            .rank = roles_.own_worker(),
            .world_size = 1,
            .share = 1.0};
}

SOTTO_DECL void parameter_exchange::serve() {
    hear_of_changes();
    if (serving_) serving_->serve();
}

SOTTO_DECL void parameter_exchange::exchange(double epoch, round_report& report, stopwatch& watch) {
    report.compute = watch.lap();
    weigh();
    ++clock_;
    for (std::size_t s = links_.size(); s-- > 0;) push(s, epoch);
    report.compress = watch.lap();
    at("wait");
    wait_for_answers();
    report.exchange = watch.lap();
    report.wait = report.exchange;
    settle(report);
}

SOTTO_DECL void parameter_exchange::end_round(std::span<float> parameters, round_report& report,
                                              stopwatch& watch) {
    catch_up();
    std::copy(read_.begin(), read_.end(), parameters.begin());
    ++rounds_;
    report.apply = watch.lap();

    const traffic after = through_.counters();
    report.bytes_sent = after.bytes_sent - before_.bytes_sent;
    report.bytes_received = after.bytes_received - before_.bytes_received;
    for (const std::int64_t size : tensor_bytes_) report.message_bytes += size;
    report.tensor_message_bytes = tensor_bytes_;
    report.began = began_;
    report.ended = through_.now() - began_;
}

SOTTO_DECL duration parameter_exchange::survive(const serving& servers) {
    require_option("parameter_server", "patience in seconds", servers.patience,
                   allowed::at_least(0.0).at_most(1e9));
    if (!servers.survives) return {};
    forgets_ = servers.checkpoints.empty() && servers.patience > 0.0;
    if (!through_.is_tolerant())
        throw invalid_option(
            "parameter_server: on this transport the loss of a rank ends the "
            "job: leave serving::survives out");
    through_.tolerate();
    survives_ = true;
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(servers.patience));
}

SOTTO_DECL void parameter_exchange::catch_up() noexcept {
    for (const auto& l : links_) clock_ = (std::max)(clock_, l.answer().clock);
}

SOTTO_DECL void parameter_exchange::settle(round_report& report) {
    for (const auto& l : links_) {
        report.dropped = report.dropped || !l.answer().taken;
        report.staleness =
            (std::max)(report.staleness, static_cast<std::int64_t>(l.answer().staleness));
    }
}

SOTTO_DECL void parameter_exchange::at(const char* phase) noexcept {
    const peer_failure::job_phase now{.round = step_, .phase = phase};
    through_.at(now);
    for (auto& l : links_) l.at(now);
}

SOTTO_DECL void parameter_exchange::weigh() {
    for (const tensor& t : tensors_) {
        const auto part = t.of(std::span<const float>(gradient_));
        const double squares = kernels::sum_of_squares(part);
        if (!kernels::is_finite(squares))
            throw non_finite(through_.rank(), t.name, kernels::first_non_finite(part));
        codec_.measured(t, squares);
    }
}

SOTTO_DECL void parameter_exchange::push(std::size_t s, double epoch) {
    const shard& part = shards_[s];
    bytes& message = links_[s].message();
    message.resize(wire::push_head_bytes(part.tensors()));
    sizes_.clear();
    const auto share = static_cast<double>(part.size_of(tensors_));
    for (const tensor& t : part.of(tensors_)) {
        const std::size_t begin = message.size();
        codec_.encode(t, t.of(std::span<const float>(gradient_)), message);
        sizes_.push_back(message.size() - begin);
        tensor_bytes_[static_cast<std::size_t>(t.index)] = static_cast<std::int64_t>(sizes_.back());
    }
    // The gradient is weighed and encoded, what is remembered of it read and written.
    const double all = static_cast<double>(std::max<std::int64_t>(tensors_.size(), 1));
    through_.charge({.bytes = 8.0 * share + 2.0 * remembered_ * share / all +
                              static_cast<double>(message.size())});
    links_[s].push({.kind = wire::push_kind::gradient,
                    .round = static_cast<std::uint64_t>(rounds_),
                    .epoch = epoch,
                    .clock = clock_},
                   sizes_);
}

SOTTO_DECL void parameter_exchange::wait_for_answers() {
    wait_until([&] {
        bool all = true;
        for (auto& l : links_) {
            all = l.advance() && all;
            if (const std::int64_t lost = l.take_lost(); lost > 0) note_lost(l.server(), lost);
        }
        return all;
    });
}

SOTTO_DECL std::string parameter_exchange::told(int rank) const {
    const bool serves = rank < roles_.servers();
    const bool works = roles_.worker_of(rank) >= 0;
    return "rank " + std::to_string(rank) +
           (!serves ? ", a worker,"
            : works ? ", a server and worker,"
                    : ", a server,");
}

SOTTO_DECL void parameter_exchange::note_lost(int server, std::int64_t rounds) {
    says_.say(told(server) + " came again without " + std::to_string(rounds) +
              " of this rank's rounds that it had acknowledged");
    const auto went = std::find_if(losses_.rbegin(), losses_.rend(),
                                   [&](const rank_loss& l) { return l.rank == server; });
    if (went != losses_.rend())
        went->rounds += rounds;
    else
        losses_.push_back({.rank = server,
                           .cause = "it started again and lost some of its steps",
                           .rounds = rounds});
}

SOTTO_DECL void parameter_exchange::hear_of_changes() {
    while (auto change = through_.next_change()) {
        const int rank = change->rank;
        auto* const link =
            rank < roles_.servers() ? &links_[static_cast<std::size_t>(rank)] : nullptr;
        if (!change->is_here) {  // what it had sent before it went
            if (serving_) serving_->serve();
            if (link) link->advance();
        }
        if (serving_) change->is_here ? serving_->came(rank) : serving_->went(rank, change->left);
        if (link) change->is_here ? link->came() : link->went(change->left);
        if (change->is_here) says_.say(told(rank) + " is there again");
        if (change->is_here || change->left) continue;
        says_.say(told(rank) + " went: " + change->cause);
        losses_.push_back({.rank = rank, .cause = std::move(change->cause)});
    }
}

}  // namespace sotto::detail
