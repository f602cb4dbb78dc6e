#pragma once

#include "sotto/logging/detail/taught_lines.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/logging/detail/taught_record.hpp"

namespace sotto::detail {

SOTTO_DECL std::optional<left_out> reason_named(std::string_view name) noexcept {
    for (const left_out why : reasons_to_leave_out)
        if (name == name_of(why)) return why;
    if (name == name_of(left_out::not_its_turn)) return left_out::not_its_turn;
    return std::nullopt;
}

SOTTO_DECL void taught_writer::begin() {
    written_.clear();
    problem_ = "";
    bytes_sent_ = skipped_ = 0;
}

SOTTO_DECL bool taught_writer::count(const taught_report& round) {
    bytes_sent_ += round.bytes_sent;
    skipped_ += round.skipped;
    return taught_record::tells(round) || problem_ != round.problem;
}

SOTTO_DECL nlohmann::ordered_json taught_writer::fields_of(const taught_report& round) {
    nlohmann::ordered_json fields{{"teachers", round.teachers},
                                  {"listening_seconds", in_seconds(round.listening)}};
    if (round.teachers > 0) {
        fields["age"] = round.age;
        fields["weight"] = round.weight;
        fields["distillation_loss"] = round.distillation_loss;
        fields["agreement"] = round.agreement;
    }
    auto standings = nlohmann::ordered_json::array();
    written_.resize((std::min)(round.standings.size(), teachers_max));
    for (std::size_t i = 0; i < written_.size(); ++i) {
        const teacher_status& standing = round.standings[i];
        nlohmann::ordered_json one{{"group", standing.group}};
        if (standing.step >= 0) one["step"] = standing.step;
        if (standing.why != left_out::no) one["why"] = name_of(standing.why);
        if (written_[i] != standing.details) {
            written_[i] = standing.details;
            if (!standing.details.empty()) one["details"] = standing.details;
        }
        if (is_finite(standing.label_loss)) one["label_loss"] = standing.label_loss;
        standings.push_back(std::move(one));
    }
    fields["standings"] = std::move(standings);
    if (bytes_sent_ > 0) fields["model_bytes_sent"] = bytes_sent_;
    if (skipped_ > 0) fields["models_skipped"] = skipped_;
    if (problem_ != round.problem) fields["problem"] = problem_.emplace(round.problem);
    return fields;
}

SOTTO_DECL void taught_writer::forget() noexcept {
    written_.clear();
    problem_.reset();
}

}  // namespace sotto::detail
