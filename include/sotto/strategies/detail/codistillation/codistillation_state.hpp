#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/codistillation/exchanges/teacher_exchange.hpp"
#include "sotto/strategies/detail/codistillation/architecture_of.hpp"
#include "sotto/strategies/detail/codistillation/label_knowledge.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/strategies/detail/codistillation/distilled_model.hpp"
#include "sotto/strategies/detail/codistillation/online_distilled_model.hpp"
#include "sotto/strategies/detail/codistillation/teacher_pool.hpp"
#include "sotto/strategies/detail/codistillation/teacher_status.hpp"
#include "sotto/strategies/detail/with_rollback.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/detail/gradient_cost.hpp"
#include "sotto/strategies/model_groups.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// One rank's side of codistillation: its group's strategy, taught by the models of other groups.
template <class Options>
class codistillation_state {
    using group_options = std::remove_cvref_t<decltype(std::declval<Options>().strategy)>;
    using group_state = strategy_state<group_options>;
    using exchange_options = std::remove_cvref_t<decltype(std::declval<Options>().exchange)>;
    using exchange_type = sotto::exchange_state<exchange_options>;
    static constexpr bool of_predictions = exchanges_predictions<exchange_options>;
    static constexpr bool in_step = conducting::in_step<group_options>;

public:
    codistillation_state(const Options& options, const layout& tensors, transport_ref through)
        : options_(options),
          tensors_(tensors),
          through_(through),
          groups_(place_of(options.groups, through)),
          plan_(options.groups.lessons, groups_, options.groups.seed),
          together_(through, members_of(options.groups, through), group_label),
          teachers_(exchanging::teachers(options.exchange, groups_, plan_), rules_of(options),
                    groups_.own),
          strategy_(options.strategy.bind(tensors_, together_)) {
        options.weight.check();
        (void)options.loss.value({}, 0, {});  // its options
        if (speaks())
            exchange_.emplace(options.exchange.bind(meeting_place{
                groups_, exchanging::teachers(options.exchange, groups_, plan_), plan_.students(),
                tensors_, through, options.groups.only < 0 ? speakers() : std::vector<int>()}));
    }

    group& together() noexcept { return together_; }
    std::string model_name() const {
        return std::string(checkpoint::group_prefix) + std::to_string(groups_.own);
    }
    std::int64_t start_group() const noexcept { return groups_.own + 1; }
    std::pair<std::int64_t, std::int64_t> range_of_models(std::int64_t own) {
        if (options_.groups.only >= 0) return {own, own};
        std::vector<std::int64_t> all(static_cast<std::size_t>(through_.size()));
        collectives::all_gather_values(through_, own, std::span(all),
                                       {channels::teachers, range_item, ++ranges_});
        const auto [least, most] = std::ranges::minmax(all);
        return {least, most};
    }
    /// Which group this is, of how many.
    model_groups groups() const noexcept { return groups_; }

    data::share share() const { return strategy_.share(); }
    data::shard shard() const noexcept {
        if constexpr (of_predictions) return {};
        return {groups_.own, groups_.count, options_.groups.common};
    }
    void deal(std::string how) {
        if (!exchanging::teachers_have_finished<exchange_options>) teachers_.expect(how);
        deal_ = std::move(how);
    }
    /// Who talks of batches has the same.
    std::int64_t order_group() const noexcept { return of_predictions ? 0 : start_group(); }

    /// What teachers say of the next batch is computed while this round's gradients travel.
    bool looks_ahead() const noexcept { return !of_predictions && !teachers_.listened().empty(); }

    fit_start begin(std::span<float> parameters, std::span<float> buffers) {
        memory_.said_of = -1;
        if (exchange_) exchanging::begin(*exchange_, buffers.size());
        return conducting::begin(strategy_, parameters, buffers);
    }

    epoch_agreement begin_epoch(const epoch_plan& plan) { return strategy_.begin_epoch(plan); }

    template <class Model>
    round_report round(round_input<Model>& job, std::span<float> parameters) {
        const traffic before = through_.counters();
        const std::int64_t sent_before = sent_to_students(), skipped_before = skipped();
        const std::int64_t lessons = job.step - options_.groups.burn_in;
        const double weight = weight_at(lessons);
        const auto judge = [this](std::size_t i, const label_knowledge& found) {
            return teachers_.judge(i, found);
        };
        traffic exchanged = before;
        const auto teach = [&](auto& student) {
            round_input<std::remove_cvref_t<decltype(student)>> lesson{
                student, job.batch, job.examples, job.step, job.epoch};
            round_report report = strategy_.round(lesson, parameters);
            add_lesson(report, student.had(), weight, job.step, job.epoch);
            return report;
        };
        round_report report;
        if constexpr (of_predictions) {
            attend(job.step);
            online_distilled_model student(job.model, options_.loss, weight, memory_,
                                           asking_at(job.step), judge);
            report = teach(student);
        } else {
            detail::with_rollback(through_, [&] { exchange_models(job, parameters); });
            exchanged = through_.counters();
            if (teachers_.leave_out()) memory_.said_of = -1;
            distilled_model student(job.model, options_.loss, teachers_.views(), weight, memory_,
                                    judge, clock_of_passes{through_, gradient_cost(job)});
            student.look_ahead(job.step, is_due(job.step + 1) ? nullptr : job.next);
            report = teach(student);
        }
        report.bytes_sent += exchanged.bytes_sent - before.bytes_sent;
        report.bytes_received += exchanged.bytes_received - before.bytes_received;
        report.taught.bytes_sent = sent_to_students() - sent_before;
        report.taught.skipped = skipped() - skipped_before;
        problem_ = problem();
        report.taught.problem = problem_;
        return report;
    }

    round_report finish(std::span<float> parameters) {
        const round_report cost = conducting::finish(strategy_, parameters);
        if constexpr (exchanging::waits_at_end<exchange_type>)
            detail::with_rollback(through_, [&] { end_together(); });
        return cost;
    }

    template <class Field>
    void visit(Field&& field) requires sotto::visitable<group_state> {
        strategy_.visit(field);
    }

    // The group's, for the trainer and its logs.
    bool introduce(const std::string& configuration) {
        return conducting::introduce(strategy_, configuration);
    }
    int sender_for(int rank) const { return conducting::sender_for(strategy_, rank); }
    std::optional<server_memory> memory_of_server() const {
        return conducting::memory_of_server(strategy_);
    }
    void end_fit() noexcept { conducting::end_fit(strategy_); }
    std::optional<server_report> report_of_server() const {
        return conducting::report_of_server(strategy_);
    }
    std::optional<topologies::mixing_graph> graph() {
        return conducting::mixing_graph_of(strategy_);
    }
    double weight() requires conducting::weighs_itself<group_state> {
        return conducting::weight(strategy_);
    }
    std::vector<rank_loss> losses() const { return conducting::losses(strategy_); }
    bool servers_forget() const { return conducting::servers_forget(strategy_); }

    /// The group's own.
    auto& strategy() noexcept { return strategy_; }

    /// What this rank thinks of its teachers.
    std::span<const teacher_status> teachers() const noexcept { return teachers_.standings(); }
    /// Why the group's model was not published lately; empty: it was, or another rank does it.
    std::string problem() const { return exchange_ ? exchange_->problem() : std::string(); }

private:
    static constexpr std::uint32_t group_label = 1;
    static constexpr std::uint32_t end_item = UINT32_MAX, range_item = UINT32_MAX - 1;

    /// Where time is only what is said to be done: a pass forward is a third of a gradient.
    struct clock_of_passes {
        transport_ref through;
        work gradient;

        time_point now() const { return through.now(); }
        void passed(std::size_t passes) const {
            const double part = static_cast<double>(passes) / 3.0;
            through.charge({.flops = part * gradient.flops, .bytes = part * gradient.bytes});
        }
    };

    /// What the leader tells the others of a teacher, as bytes.
    struct notice {
        std::int64_t step = -1;
        std::int64_t is_new = 0;      // there is a model
        std::int64_t is_awaited = 0;  // or it is not here yet
        std::int64_t is_news = 0;     // a model, or another refusal
        std::int64_t refusal = 0;
        std::uint64_t judged = 0;  // the loss of this group's model on its data, a double
        std::array<char, 1000> details{};
    };
    static_assert(std::has_unique_object_representations_v<notice>);

    static model_groups place_of(const typename Options::group_options& asked,
                                 transport_ref through) {
        asked.check(through.size());
        if (asked.only >= 0) return {asked.only, asked.count};
        return {group_of(through.rank(), asked.count, through.size()), asked.count};
    }

    /// Of so many that the ranks of a world form.
    static int group_of(int rank, int groups, int size) noexcept {
        return static_cast<int>(std::int64_t{rank} * groups / size);
    }

    static teacher_rules rules_of(const Options& options) {
        options.teachers.check();
        return options.teachers.of_exchanges(options.groups.every,
                                             exchanging::teachers_have_finished<exchange_options>);
    }

    /// What the distillation loss weighs after so many steps with teachers.
    double weight_at(std::int64_t lessons) const {
        if (lessons < 0) return 0.0;
        const double weight = options_.weight.at(lessons);
        const auto name = [&] { return "the weight after " + std::to_string(lessons) + " steps"; };
        require_option("codistillation", name, weight, allowed::at_least(0.0));
        return weight;
    }

    static std::vector<int> members_of(const typename Options::group_options& asked,
                                       transport_ref through) {
        const auto group_at = [&](int rank) { return group_of(rank, asked.count, through.size()); };
        std::vector<int> members;
        for (int rank = 0; rank < through.size(); ++rank)
            if (asked.only >= 0 || group_at(rank) == group_at(through.rank()))
                members.push_back(rank);
        return members;
    }

    /// The rank of each group that speaks with this one: its first, or that in the same place.
    std::vector<int> speakers() const {
        const int size = through_.size(), count = groups_.count;
        if (of_predictions && size % count != 0)
            throw invalid_option("prediction_exchange: " + std::to_string(size) + " ranks in " +
                                 std::to_string(count) + " groups; expected as many in each");
        std::vector<int> speaking;
        for (int rank = 0; rank < size; ++rank)
            if (rank == 0 || group_of(rank, count, size) != group_of(rank - 1, count, size))
                speaking.push_back(of_predictions ? rank + together_.rank() : rank);
        return speaking;
    }

    /// Whether this rank exchanges anything with other groups: ranks that are in step get all of
    /// the rank that leads them, others look for themselves.
    bool speaks() const noexcept { return of_predictions || !in_step || leads(); }
    /// Whether it says what its group's model is: the first that trains it.
    bool publishes() const {
        if constexpr (in_step) return leads();
        return strategy_.share().count > 0 && strategy_.share().index == 0;
    }

    void add_lesson(round_report& report, const lesson& had, double weight, std::int64_t step,
                    double epoch) {
        if (report.examples > 0)
            teachers_.student(had.label_loss, epoch < detail::teacher_pool::passes_unseen);
        report.taught = {.teachers = had.heard,
                         .age = teachers_.oldest(step).value_or(0),
                         .weight = had.heard > 0 ? weight : 0.0,
                         .distillation_loss = had.distillation_loss,
                         .agreement = had.agreement,
                         .listening = had.of_teachers,
                         .standings = teachers_.standings()};
    }

    /// All that teach in the interval are here, as they are now.
    void attend(std::int64_t step) {
        for (std::size_t i = 0; i < teachers_.size(); ++i) teachers_.attend(i, step);
        const std::int64_t interval = step / options_.groups.every;
        if (std::exchange(interval_, interval) == interval) return;
        teachers_now_ = plan_.teachers(interval);
        students_now_ = plan_.students(interval);
        teachers_.begin_interval(step, teachers_now_);
    }

    /// How a model asks others in a round: ask(logits, labels, take).
    auto asking_at(std::int64_t step) {
        return [this, step](std::span<const float> logits, std::span<const std::int32_t> labels,
                            auto&& take) {
            return exchange_->exchange(logits, labels, static_cast<std::uint64_t>(step),
                                       teachers_now_, students_now_,
                                       [&](std::size_t i, std::span<const float> said) {
                                           const auto all = teachers_.listened();
                                           const auto at = std::ranges::find(all, i);
                                           take(static_cast<std::size_t>(at - all.begin()), said);
                                       });
        };
    }

    bool leads() const noexcept { return together_.rank() == 0; }

    std::int64_t sent_to_students() const {
        return exchange_ ? exchanging::bytes_sent(*exchange_) : 0;
    }
    std::int64_t skipped() const { return exchange_ ? exchanging::skipped(*exchange_) : 0; }

    bool is_due(std::int64_t step) const noexcept {
        if (exchanging::teachers_have_finished<exchange_options> && !has_looked_)
            return step >= options_.groups.burn_in;
        return step > 0 && step % options_.groups.every == 0;
    }

    template <class Model>
    void exchange_models(round_input<Model>& job, std::span<const float> parameters) {
        if (kind_.parameters.size() == 0) {
            if (publishes()) exchanging::open(*exchange_, job.step);
            kind_ = architecture_of(job.model);
        }
        if (exchange_) exchanging::listen(*exchange_, kind_);
        if (first_step_ < 0) first_step_ = job.step;
        // Resumed within an interval, whose teachers are there.
        const bool comes_again = job.step == first_step_ && job.step > options_.groups.burn_in;
        const bool due = is_due(job.step), looks = due || comes_again;
        if (!looks && std::ranges::count(awaited_, true) == 0) return;
        const std::int64_t interval = job.step / options_.groups.every;
        std::span<const float> buffers;
        if constexpr (with_buffers<Model>) buffers = job.model.buffers();
        if (due && publishes())
            exchange_->publish(kind_,
                               {.step = job.step,
                                .label_loss = teachers_.student(),
                                .group = std::to_string(groups_.own),
                                .architecture = kind_.identity(),
                                .judged = teachers_.judged(),
                                .deal = deal_},
                               parameters, buffers, plan_.students(interval));
        if (job.step < options_.groups.burn_in) return;
        if (looks) awaited_.assign(teachers_.size(), true);
        if (look() || looks) {
            teachers_.begin_interval(
                job.step, exchanging::teachers(options_.exchange, groups_, plan_, interval));
            memory_.said_of = -1;
        }
    }

    /// The leader looks for what is new of teachers that are awaited; all its group then have it.
    /// Whether there is news of any.
    bool look() {
        has_looked_ = true;
        std::vector<notice> notices(teachers_.size());
        if (exchange_)
            for (std::size_t i = 0; i < teachers_.size(); ++i) {
                const teacher_status& standing = teachers_.standings()[i];
                const left_out before = teachers_.refusal(i);
                if (awaited_[i] &&
                    exchanging::is_ready(*exchange_, kind_, standing.group, standing.step)) {
                    awaited_[i] = false;
                    notices[i].is_new = teachers_.renew(i, [&](int group, std::int64_t after) {
                        return exchange_->look(kind_, group, after);
                    });
                }
                notices[i].is_news = notices[i].is_new != 0 || teachers_.refusal(i) != before;
                notices[i].is_awaited = awaited_[i];
                notices[i].step = standing.step;
                notices[i].refusal = static_cast<std::int64_t>(teachers_.refusal(i));
                notices[i].judged = std::bit_cast<std::uint64_t>(teachers_.judged_by(i));
                std::copy_n(standing.details.begin(),
                            (std::min)(standing.details.size(), notices[i].details.size() - 1),
                            notices[i].details.begin());
            }
        if (in_step && together_.size() > 1) give_all(notices);
        return std::ranges::any_of(notices, [](const notice& n) { return n.is_news != 0; });
    }

    /// What the leader has found, to all of the group.
    void give_all(std::vector<notice>& notices) {
        const auto number = static_cast<std::uint64_t>(++looks_);
        give(std::as_writable_bytes(std::span(notices)), {channels::teachers, 0, number});
        for (std::size_t i = 0; i < teachers_.size(); ++i) {
            if (!leads()) {
                teachers_.refuse(i, static_cast<left_out>(notices[i].refusal),
                                 notices[i].details.data());
                awaited_[i] = notices[i].is_awaited != 0;
            }
            if (notices[i].is_new == 0) continue;
            checkpoint::published_model come;
            come.facts.step = notices[i].step;
            come.facts.judged = {{groups_.own, std::bit_cast<double>(notices[i].judged)}};
            if (!leads()) {
                come.parameters.resize(static_cast<std::size_t>(kind_.parameters.size()));
                come.buffers.resize(static_cast<std::size_t>(kind_.buffers.size()));
            }
            checkpoint::published_model& model = leads() ? teachers_.model(i) : come;
            const auto item = static_cast<std::uint32_t>(2 * i + 1);
            give(std::as_writable_bytes(std::span(model.parameters)),
                 {channels::teachers, item, number});
            if (!model.buffers.empty())
                give(std::as_writable_bytes(std::span(model.buffers)),
                     {channels::teachers, item + 1, number});
            if (!leads()) teachers_.take(i, std::move(come));
        }
    }

    /// Who speaks for the group waits for other groups; the others wait for it, and hear whenever
    /// there is news, so that none of them takes it for late.
    void end_together() {
        const tag label{channels::teachers, end_item, static_cast<std::uint64_t>(++ends_)};
        const auto tell = [&](std::byte is_over) {
            for (int rank = 1; rank < together_.size(); ++rank)
                together_.wait(together_.send(rank, label, {&is_over, 1}));
        };
        if (leads()) {
            exchange_->finish([&] { tell(std::byte{0}); });
            return tell(std::byte{1});
        }
        std::byte is_over{0};
        while (is_over == std::byte{0}) together_.wait(together_.receive(0, label, {&is_over, 1}));
    }

    void give(mutable_byte_view values, tag label) {
        collectives::broadcast<std::byte> all(together_, static_cast<std::int64_t>(values.size()));
        all.start(values, label);
        collectives::run(together_, all);
    }

    Options options_;
    layout tensors_;
    transport_ref through_;
    model_groups groups_;
    lesson_plan plan_;
    group together_;
    detail::teacher_pool teachers_;
    std::optional<exchange_type> exchange_;  // of who speaks for the group
    checkpoint::architecture kind_;
    std::string deal_;  // of the data
    detail::lesson_memory memory_;
    std::vector<bool> awaited_;  // teachers whose newest model is not here yet
    std::int64_t looks_ = 0, ends_ = 0;
    std::uint64_t ranges_ = 0;
    std::int64_t first_step_ = -1;  // that was done here: of a run that was resumed a later one
    std::string problem_;           // as it is told
    // Of an exchange of predictions: the interval, and who teaches and learns in it.
    std::int64_t interval_ = -1;
    std::vector<int> teachers_now_, students_now_;
    bool has_looked_ = false;
    group_state strategy_;  // last: it refers to the group
};

}  // namespace sotto::detail
