#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/field_visitor.hpp"
#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/checkpoint/detail/file_writer.hpp"
#include "sotto/checkpoint/detail/format_header.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"

namespace sotto::testing {

/// A checkpoint with something in each section, whose values follow from its step.
class small_checkpoint {
public:
    explicit small_checkpoint(std::int64_t step) : step_(step), steps_(step) {
        for (std::vector<float>* values : {&weight_, &bias_, &momentum_, &mean_, &residual_})
            for (float& value : *values)
                value = static_cast<float>(step) + 0.25f * static_cast<float>(next_++);
        fields_.parameters = {field("layer.weight", {2, 3}, weight_),
                              field("layer.bias", {2}, bias_), field("nothing", {0, 3}, {})};
        fields_.buffers = {field("mean", {2}, mean_)};
        detail::field_visitor visit(fields_);
        visit("steps", steps_);
        visit("momentum", momentum_);
        visit("residual", residual_, kept::apart);
    }

    bytes header() const {
        detail::file_plan plan;
        plan.note("step", std::to_string(step_));
        plan.add("parameters", fields_.parameters, detail::digest_of(fields_.parameters));
        plan.add("state", fields_.alike, detail::digest_of(fields_.alike));
        plan.add("buffers/rank0", fields_.buffers, detail::digest_of(fields_.buffers));
        plan.add("state/rank0", fields_.apart, detail::digest_of(fields_.apart));
        return detail::checkpoint::format_header(plan.finish());
    }

    /// Why it could not be written; empty: it was.
    template <detail::checkpoint::file_system Files>
    std::string write(Files& files, const std::filesystem::path& folder = "run",
                      std::int64_t keep = 2,
                      std::vector<detail::checkpoint::refused_file> refused = {}) const {
        detail::checkpoint::file_writer out(files, folder, step_, keep, std::move(refused));
        out.write_header(header());
        for (const auto* part :
             {&fields_.parameters, &fields_.alike, &fields_.buffers, &fields_.apart})
            for (const detail::saved_field& field : *part) out.write(field.memory);
        out.finish();
        return out.problem();
    }

    /// Whether a file that was opened holds just this.
    bool is_in(detail::checkpoint::file_reader& file) const {
        const auto same = [&](const std::string& section, const auto& fields) {
            return std::ranges::all_of(fields, [&](const detail::saved_field& field) {
                const auto which = file.find(section + "/" + field.name);
                if (!which) return false;
                bytes found(field.memory.size());
                file.read(*which, found);
                return std::ranges::equal(found, field.memory);
            });
        };
        return same("parameters", fields_.parameters) && same("state", fields_.alike) &&
               same("buffers/rank0", fields_.buffers) && same("state/rank0", fields_.apart);
    }

private:
    static detail::saved_field field(std::string name, std::vector<std::int64_t> shape,
                                     std::span<float> values) {
        return {std::move(name), std::move(shape), detail::checkpoint::dtype::f32,
                std::as_writable_bytes(values)};
    }

    std::int64_t step_, steps_;
    int next_ = 0;
    std::vector<float> weight_ = std::vector<float>(6), bias_ = std::vector<float>(2),
                       momentum_ = std::vector<float>(3), mean_ = std::vector<float>(2),
                       residual_ = std::vector<float>(3);
    detail::saved_fields fields_;
};

/// The step of the newest checkpoint that is whole, 0 where there is none; its values must be those
/// of that step. `refused` says what was wrong with newer ones.
template <detail::checkpoint::file_system Files>
std::int64_t newest(Files& files, std::vector<std::string>& refused,
                    const std::filesystem::path& folder = "run") {
    std::optional<detail::checkpoint::file_reader> file;
    std::vector<detail::checkpoint::refused_file> damaged;
    const bool found = detail::checkpoint::open_newest(files, folder, file, damaged);
    for (const detail::checkpoint::refused_file& one : damaged) refused.push_back(one.why);
    if (!found) return 0;
    const std::int64_t step = *detail::checkpoint::step_of(file->path().filename().string());
    return small_checkpoint(step).is_in(*file) ? step : -1;
}

template <detail::checkpoint::file_system Files>
std::int64_t newest(Files& files, const std::filesystem::path& folder = "run") {
    std::vector<std::string> refused;
    return newest(files, refused, folder);
}

}  // namespace sotto::testing
