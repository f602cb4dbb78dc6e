#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/checkpoint/published_model.hpp"
#include "sotto/collectives/broadcast.hpp"
#include "sotto/collectives/operation.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/strategies/taught.hpp"
#include "sotto/strategies/teacher_desk.hpp"
#include "sotto/strategies/teacher_exchange.hpp"
#include "sotto/transports/group.hpp"

namespace sotto {

/// One rank's side of codistillation: its group's strategy, taught by the models of other groups.
template <class Options, class Transport>
class codistillation_state {
    using group_options = std::remove_cvref_t<decltype(std::declval<Options>().strategy)>;
    using group_state = strategy_state<group_options, group<Transport>>;
    using exchange_options = std::remove_cvref_t<decltype(std::declval<Options>().exchange)>;
    using exchange_state =
        decltype(std::declval<const exchange_options&>().bind(std::declval<model_groups>()));

public:
    codistillation_state(const Options& options, const layout& tensors, Transport& through)
        : options_(options),
          tensors_(tensors),
          groups_(place_of(options.groups, through)),
          together_(through, members_of(options.groups, through), group_label),
          desk_(others_of(groups_), options.teachers),
          strategy_(options.strategy.bind(tensors_, together_)) {
        options.weight.check();
        if (leads()) exchange_.emplace(options.exchange.bind(groups_));
    }

    group<Transport>& together() noexcept { return together_; }
    std::string model_name() const { return "group-" + std::to_string(groups_.own); }
    std::int64_t start_group() const noexcept { return groups_.own + 1; }
    model_groups groups() const noexcept { return groups_; }

    data::share share() const { return strategy_.share(); }
    data::shard shard() const noexcept {
        return {groups_.own, groups_.count, options_.groups.common};
    }

    epoch_agreement begin_epoch(const epoch_plan& plan) { return strategy_.begin_epoch(plan); }

    template <class Model>
    round_report round(task<Model>& job, std::span<float> parameters) {
        if (is_due(job.step)) exchange_models(job, parameters);
        const std::int64_t lessons = job.step - options_.groups.burn_in;
        const double weight = lessons < 0 ? 0.0 : options_.weight.at(lessons);
        const auto judge = [this](std::size_t i, double loss) { return desk_.judge(i, loss); };
        taught student(job.model, options_.loss, desk_.views(), weight, memory_, judge);
        task<decltype(student)> lesson{student, job.batch, job.examples, job.step, job.epoch};
        round_report report = strategy_.round(lesson, parameters);
        if (report.examples > 0) desk_.student(student.had().label_loss);
        report.taught = {.teachers = student.had().heard,
                         .age = desk_.oldest(job.step).value_or(0),
                         .weight = student.had().heard > 0 ? weight : 0.0,
                         .distillation_loss = student.had().distillation_loss,
                         .agreement = student.had().agreement,
                         .listening = student.had().of_teachers,
                         .standings = desk_.standings()};
        return report;
    }

    round_report finish(std::span<float> parameters) {
        return conducting::finish(strategy_, parameters);
    }

    template <class Field>
    void visit(Field&& field) requires visitable<group_state> {
        strategy_.visit(field);
    }

    /// The group's own.
    auto& strategy() noexcept { return strategy_; }

    /// What this rank thinks of its teachers.
    std::span<const teacher_standing> teachers() const noexcept { return desk_.standings(); }
    /// Why the group's model was not published lately; empty: it was, or another rank does it.
    std::string problem() const { return exchange_ ? exchange_->problem() : std::string(); }

private:
    static constexpr std::uint32_t group_label = 1;

    /// What the leader tells the others of a teacher, as bytes.
    struct notice {
        std::int64_t step = -1;
        std::int64_t is_new = 0;
        std::int64_t refusal = 0;
        std::array<char, 1000> details{};
    };
    static_assert(std::has_unique_object_representations_v<notice>);

    static model_groups place_of(const typename Options::group_options& asked,
                                 const Transport& through) {
        asked.check(through.size());
        if (asked.only >= 0) return {asked.only, asked.count};
        return {static_cast<int>(std::int64_t{through.rank()} * asked.count / through.size()),
                asked.count};
    }

    static std::vector<int> members_of(const typename Options::group_options& asked,
                                       const Transport& through) {
        std::vector<int> members;
        for (int rank = 0; rank < through.size(); ++rank)
            if (asked.only >= 0 || std::int64_t{rank} * asked.count / through.size() ==
                                       std::int64_t{through.rank()} * asked.count / through.size())
                members.push_back(rank);
        return members;
    }

    static std::vector<int> others_of(model_groups groups) {
        std::vector<int> others;
        for (int group = 0; group < groups.count; ++group)
            if (group != groups.own) others.push_back(group);
        return others;
    }

    bool leads() const noexcept { return together_.rank() == 0; }

    bool is_due(std::int64_t step) const noexcept {
        return step > 0 && step % options_.groups.every == 0;
    }

    template <class Model>
    void exchange_models(task<Model>& job, std::span<const float> parameters) {
        if (kind_.parameters.size() == 0) describe(job.model);
        std::span<const float> buffers;
        if constexpr (with_buffers<Model>) buffers = job.model.buffers();
        if (leads())
            exchange_->publish(kind_,
                               {.step = job.step,
                                .label_loss = desk_.student(),
                                .group = std::to_string(groups_.own),
                                .architecture = kind_.identity()},
                               parameters, buffers);
        if (job.step >= options_.groups.burn_in) {
            look();
            desk_.begin_interval(job.step);
        }
    }

    template <class Model>
    void describe(const Model& model) {
        kind_.parameters = tensors_;
        if constexpr (with_buffers<Model>) kind_.buffers = model.buffer_layout();
        kind_.description = description().add("model", model).text();
    }

    /// The leader looks for what is new; all of the group then have it.
    void look() {
        std::vector<notice> notices(desk_.size());
        if (leads())
            for (std::size_t i = 0; i < desk_.size(); ++i) {
                notices[i].is_new = desk_.renew(i, [&](int group, std::int64_t after) {
                    return exchange_->look(kind_, group, after);
                });
                const teacher_standing& standing = desk_.standings()[i];
                notices[i].step = standing.step;
                notices[i].refusal = static_cast<std::int64_t>(desk_.refusal(i));
                std::copy_n(standing.details.begin(),
                            std::min(standing.details.size(), notices[i].details.size() - 1),
                            notices[i].details.begin());
            }
        if (together_.size() == 1) return;
        const auto number = static_cast<std::uint64_t>(++looks_);
        give(std::as_writable_bytes(std::span(notices)), {channels::teachers, 0, number});
        const auto size = static_cast<std::size_t>(kind_.parameters.size());
        values_.resize(size + static_cast<std::size_t>(kind_.buffers.size()));
        for (std::size_t i = 0; i < desk_.size(); ++i) {
            if (!leads())
                desk_.refuse(i, static_cast<left_out>(notices[i].refusal),
                             notices[i].details.data());
            if (notices[i].is_new == 0) continue;
            if (leads()) {
                const auto& model = desk_.model(i);
                std::ranges::copy(model.buffers,
                                  std::ranges::copy(model.parameters, values_.begin()).out);
            }
            give(std::as_writable_bytes(std::span(values_)),
                 {channels::teachers, static_cast<std::uint32_t>(i + 1), number});
            if (leads()) continue;
            checkpoint::published_model model;
            model.facts.step = notices[i].step;
            const auto middle = values_.begin() + static_cast<std::ptrdiff_t>(size);
            model.parameters.assign(values_.begin(), middle);
            model.buffers.assign(middle, values_.end());
            desk_.take(i, std::move(model));
        }
    }

    void give(mutable_byte_view values, tag label) {
        collectives::broadcast<group<Transport>, std::byte> all(
            together_, static_cast<std::int64_t>(values.size()));
        all.start(values, label);
        collectives::run(together_, all);
    }

    Options options_;
    layout tensors_;
    model_groups groups_;
    group<Transport> together_;
    detail::teacher_desk desk_;
    std::optional<exchange_state> exchange_;  // of who leads the group
    checkpoint::architecture kind_;
    detail::lesson_memory memory_;
    std::vector<float> values_;
    std::int64_t looks_ = 0;
    group_state strategy_;  // last: it refers to the group
};

}  // namespace sotto
