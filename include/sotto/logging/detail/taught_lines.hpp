#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotto/core/clock.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/strategies/round_report.hpp"
#include "sotto/strategies/detail/codistillation/teacher_standing.hpp"
#include "sotto/logging/detail/taught_record.hpp"

namespace sotto::detail {

/// Of more than these, a log tells nothing but how many were heard.
inline constexpr std::size_t teachers_max = 4096;

/// The reason that name_of calls so.
inline std::optional<left_out> reason_named(std::string_view name) noexcept {
    for (const left_out why : reasons_to_leave_out)
        if (name == name_of(why)) return why;
    if (name == name_of(left_out::not_its_turn)) return left_out::not_its_turn;
    return std::nullopt;
}

/// Writes what teachers taught in a step as json_lines does. All but details is in each line, some
/// 50 bytes a teacher, so that every line can be understood alone and any may be missing; details
/// and problems are sentences that stay the same for an interval or for ever, and are in the first
/// line alone.
class taught_writer {
public:
    /// A file or a call of `fit` begins.
    void begin() {
        written_.clear();
        problem_ = "";
        bytes_sent_ = skipped_ = 0;
    }

    /// A step, of which there may be a line or not. Whether one would have something to tell.
    bool count(const taught_report& round) {
        bytes_sent_ += round.bytes_sent;
        skipped_ += round.skipped;
        return taught_record::tells(round) || problem_ != round.problem;
    }

    nlohmann::ordered_json fields_of(const taught_report& round) {
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
            const teacher_standing& standing = round.standings[i];
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

    /// A line got lost: all details are new again, and so is the problem, even if there is none.
    void forget() noexcept {
        written_.clear();
        problem_.reset();
    }

private:
    std::vector<std::string> written_;           // details, by the standings
    std::optional<std::string> problem_{""};     // as it was written; none: nobody knows
    std::int64_t bytes_sent_ = 0, skipped_ = 0;  // in all
};

}  // namespace sotto::detail
