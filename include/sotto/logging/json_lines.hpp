#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/detail/files/line_file.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/logging/detail/consensus_lines.hpp"
#include "sotto/logging/detail/json_text.hpp"
#include "sotto/trainer/model_path.hpp"
#include "sotto/logging/detail/peak_memory.hpp"
#include "sotto/logging/detail/recent_rounds.hpp"
#include "sotto/logging/detail/round_times.hpp"
#include "sotto/logging/detail/run_consensus.hpp"
#include "sotto/trainer/detail/run_description.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/logging/detail/server_lines.hpp"
#include "sotto/logging/detail/taught_lines.hpp"
#include "sotto/logging/detail/taught_record.hpp"
#include "sotto/logging/detail/write_failure.hpp"

namespace sotto {

/// Writes a run to a file, whose folder is made where there is none, one JSON object a line, each
/// with its "event" first. Where several models are trained at once, as by codistillation, each has
/// a file of its own, see path_of_model: run.group-0.jsonl and run.group-1.jsonl for run.jsonl.
///   run     rank, world_size, epochs left to do, examples of this rank and steps an epoch, step;
///           options and tensors of the whole run. First
///           in_step, false where ranks do not wait for each other
///           simulated_network, its figures, where all seconds and clocks below are simulated
///           model and model_ranks, where several models are trained: what this rank's is called,
///           and how many ranks train it
///           server_memory, the bytes that it takes, where this rank serves others
///           mixing, where ranks mix with neighbours: ranks, period (in rounds; 0: each is drawn
///           anew), topology, second_singular_value and p where they are known, degree,
///           bytes_a_round of a rank where all rounds' are as many, ranks_may_go where all of this
///           is of those that are there at first, link_count, and links, each [from, to, weight],
///           none where there are over 16,384
///   step    step (counted from 1), epoch (passes over the data when it began, with their
///           fraction), rank_loss (mean over this rank's batch), costs of the step,
///           began_seconds by the transport's clock where the strategy tells,
///           tensor_message_bytes; consensus, where ranks mix with neighbours, as consensus_report
///           has it: rounds, and what was measured of change, estimate, distance, target, critical,
///           learning_rate and gradient_norm; missed, where the target was; squared_changes and
///           squared_distances, by tensor: the roots of these over learning_rate times
///           gradient_norm are distances in steps; taught, where other models teach, as
///           taught_report has it: teachers, how many were heard, listening_seconds, a part of
///           compute_seconds, and where any was heard age, weight, distillation_loss and agreement;
///           standings, of each teacher, heard or not, its group, step of its model, why it is left
///           out and label_loss, each where there is any, and details where they are other than in
///           the line before; of this rank's own models model_bytes_sent and models_skipped, since
///           the run's line, where there are any, and problem, why the last could not be published,
///           where it is another than in the line before, "" where there is none any more
///   epoch   epoch (counted from 1), complete (false where `fit` ended inside it), step, loss (mean
///           over the examples of all ranks, or, where they are not in step, of this one alone),
///           test_loss, test_accuracy and test_examples where it was evaluated, by what all ranks
///           hold or this one alone, likewise; own_test_loss and own_test_accuracy where ranks' own
///           models were, each with least, mean and most over the ranks; costs of the epoch,
///           peak_memory_bytes of the process so far
///   round   step, the one of median length of the last nine before its epoch's line; since it
///           began: ready_, left_, arrived_ and decoded_seconds of every tensor, agreed_ and
///           ended_seconds of the round; apply_seconds. Where several ranks train
///           and the strategy tells
///   server  where this rank serves, after an epoch's line and before the end: rank, version (steps
///           that it took), and of each worker rank, rounds (gradients that it pushed), dropped (of
///           them), waited_seconds (between them and their answers), and staleness: gradients that
///           came so many steps late, from 0 on; lost_rounds, where it had acknowledged some
///           before it failed and came again without them; dropped_share, of the gradients of all
///           workers; saves, where it is to save what it holds: folder, written and failed, how
///           often each, last_step, after which step of it the last was written, and failure, why
///           the last that failed did
///   checkpoint   step, path; failure, the reason, where it could not be written
///   skipped      lines, how many could not be written before this one, and the reason
///   end     epochs and steps of this `fit`, step, loss and test of the last epoch, stopped_early,
///           costs of this `fit`, peak_memory_bytes; losses, where ranks went while others trained
///           on: of each its rank, cause, and lost_rounds, those of this rank that it had
///           acknowledged as a server and came again without; by gossip step, that it was in
///           then, seconds, since its `fit` began, and again_step, where it came again. Last
///   churn   added afterwards, see append_churn
/// `step` counts those completed over all calls of `fit`. A log that is given to `fit` again
/// goes on in its file, with a run line; so does that of a run which goes on with an earlier
/// process's, after `resume` or where servers had its rank's rounds: what a crash left of a last
/// line is cut off. A call of `fit` that
/// an earlier process had completed adds nothing. All but the run, round and skipped lines have
/// seconds_since_start. Costs are this rank's: examples; load_, compute_, compress_, wait_ and
/// apply_seconds; exchange_seconds, in which something was under way, and hidden_seconds, of
/// them those with work of its own; dense_bytes (gradients as floats), message_bytes (what they
/// became, once), bytes_sent and bytes_received (on the wire, every copy counted), study_bytes
/// (of those sent, to measure distances exactly; where there were any); of several steps,
/// listening_seconds, the part of compute_seconds in which teachers were heard, where there is any.
/// What is not a finite number is null.
///
/// Once training is under way a disk that is full or fails does not end it: lines that cannot be
/// written are left out, on_failure is called, and the next line is tried, which says how many.
/// Where the file is removed, renamed or shortened meanwhile, as by a rotation of logs, on_failure
/// is called once, and the run goes on in a new file of that name with another run line. If lines
/// are missing in the end, fit_report::incomplete says so.
///
/// A device or a FIFO takes the lines, too. It is opened without blocking: a FIFO needs a reader
/// then, and lines are left out where the reader takes none for a second.
///   errors  the constructor and on_begin throw io_failure, naming the file and the system's
///           reason, when it cannot be opened or written; invalid_option: every_steps below 1
class json_lines {
public:
    /// What json_lines writes, and who.
    struct options {
        std::int64_t every_steps = 1;  // a step's line is left out unless its number is a multiple
        /// Else the first rank of each model alone; other ranks' files are named PATH.rank1 ...
        bool every_rank = false;
        bool append = false;  // to what is in the file, also where the run begins anew
        /// Called when lines begin to be left out; null: nothing is.
        void (*on_failure)(const detail::write_failure&) = detail::complain_of_writing;
    };

    /// Into this file; throws invalid_option: an empty path, every_steps below 1.
    explicit json_lines(const std::filesystem::path& path) : json_lines(path, options{}) {}
    /// Into this file, as the options say; throws the same.
    explicit json_lines(const std::filesystem::path& path, options chosen)
        : file_(detail::required_path("json_lines", path)),
          options_(chosen),
          complaint_(chosen.on_failure) {
        require_option("json_lines", "every_steps", chosen.every_steps,
                       detail::allowed::at_least(1));
        std::error_code ignored;
        was_there_ = std::filesystem::exists(file_.path(), ignored);
        // Now, not after the data were read: can it be written?
        if (const std::error_code reason = file_.try_out()) fail("opened for writing", reason);
    }

    void on_begin(const run_info& info) {
        if (!info.model.empty() && !begun_) leave_to_nobody();
        writes_ = (info.leads() || options_.every_rank) && !info.over;
        if (!writes_) return file_.close();
        if (!begun_) {
            const std::filesystem::path own =
                path_of_rank(path_of_model(file_.path(), info.model), info.leads() ? 0 : info.rank);
            if (own != file_.path()) file_ = detail::line_file(own);
            const bool goes_on =
                options_.append || info.steps_before > 0 || info.steps_at_servers > 0;
            const std::error_code reason = goes_on ? file_.open_at_end() : file_.open_empty();
            if (reason) fail("opened for writing", reason);
        }
        begun_ = true;
        taught_.begin();
        recent_.begin(info);
        object tensors = object::array();
        for (const tensor& t : *info.parameters)
            tensors.push_back({{"name", t.name}, {"shape", t.shape}, {"size", t.size}});
        object line{{"event", "run"},
                    {"rank", info.rank},
                    {"world_size", info.world_size},
                    {"epochs", info.epochs},
                    {"examples", info.examples},
                    {"steps_an_epoch", info.steps_an_epoch},
                    {"step", info.steps_before + info.steps_at_servers},
                    {"options", fields_of(info.description)},
                    {"tensors", std::move(tensors)}};
        if (info.serves) line["server_memory"] = detail::fields_of_memory(*info.serves);
        line["in_step"] = info.in_step;
        if (!info.simulated_network.empty()) line["simulated_network"] = info.simulated_network;
        if (!info.model.empty()) {
            line["model"] = info.model;
            line["model_ranks"] = info.model_ranks;
        }
        if (info.mixing) line["mixing"] = detail::fields_of_graph(*info.mixing);
        first_line_ = std::move(line);
        last_step_ = info.steps_before + info.steps_at_servers;
        const std::error_code reason = put(first_line_, last_step_);
        if (reason) fail("written", reason);
    }

    void on_step(const step_report& report) {
        if (!writes_) return;
        recent_.add(report);
        const bool is_taught = taught_.count(report.round.taught);
        const std::int64_t before = std::exchange(last_step_, report.step);
        if (report.step % options_.every_steps != 0) return;
        object line{{"event", "step"},
                    {"step", report.step},
                    {"epoch", report.epoch},
                    {"seconds_since_start", report.seconds},
                    {"rank_loss", report.round.loss}};
        add_costs(line, report.round);
        if (const double clock = clock_of(report.round); detail::is_finite(clock))
            line["began_seconds"] = clock;
        line["tensor_message_bytes"] = report.round.tensor_message_bytes;
        if (detail::consensus_means::tells(report.round.consensus))
            line["consensus"] = detail::fields_of_consensus(report.round.consensus);
        if (is_taught) line["taught"] = taught_.fields_of(report.round.taught);
        write(line, report.step, before);
    }

    void on_epoch(const epoch_report& report) {
        if (!writes_) return;
        object line{{"event", "epoch"},
                    {"epoch", report.epoch},
                    {"complete", report.complete},
                    {"step", report.step},
                    {"seconds_since_start", report.seconds},
                    {"loss", report.loss}};
        add_evaluation(line, report.evaluated);
        add_costs_of_steps(line, report.total);
        line["peak_memory_bytes"] = detail::peak_memory_bytes();
        write(line, report.step);
        if (const detail::round_times* round = recent_.typical())
            write(line_of(*round), report.step);
        if (report.served) write(detail::line_of_server(*report.served), report.step);
    }

    void on_checkpoint(const checkpoint_report& report) {
        if (!writes_) return;
        object line{{"event", "checkpoint"},
                    {"step", report.step},
                    {"seconds_since_start", report.seconds},
                    {"path", report.path}};
        if (!report.failure.empty()) line["failure"] = report.failure;
        write(line, report.step);
    }

    void on_end(const fit_report& report) {
        if (!writes_) return;
        if (report.served) write(detail::line_of_server(*report.served), report.step);
        object line{{"event", "end"},
                    {"epochs", report.epochs},
                    {"steps", report.steps},
                    {"step", report.step},
                    {"seconds_since_start", report.seconds},
                    {"stopped_early", report.stopped_early},
                    {"loss", report.loss}};
        add_evaluation(line, report.evaluated);
        add_costs_of_steps(line, report.total);
        line["peak_memory_bytes"] = detail::peak_memory_bytes();
        if (!report.losses.empty()) line["losses"] = detail::fields_of_losses(report.losses);
        write(line, report.step);
        if (const std::error_code reason = file_.drain()) leave_out(report.step, reason);
    }

    /// Why the file lacks lines of the run; empty: it has all of them.
    std::string incomplete() const {
        if (lacks_ > 0)
            return complaint_.last() + ": it lacks " + std::to_string(lacks_) +
                   (lacks_ == 1 ? " line" : " lines");
        return is_lost_ ? complaint_.lost() : std::string();
    }

private:
    using object = nlohmann::ordered_json;

    /// The options of a description as an object.
    static object fields_of(std::string_view text) {
        object fields = object::object();
        detail::for_each_option(text, [&](std::string_view name, std::string_view value) {
            fields[std::string(name)] = value;
        });
        return fields;
    }

    static object line_of(const detail::round_times& round) {
        const auto of_tensors = [&](double detail::round_times::of_tensor::*time) {
            object seconds = object::array();
            for (const detail::round_times::of_tensor& t : round.tensors)
                seconds.push_back(t.*time);
            return seconds;
        };
        using of_tensor = detail::round_times::of_tensor;
        return {{"event", "round"},
                {"step", round.step},
                {"ready_seconds", of_tensors(&of_tensor::ready)},
                {"left_seconds", of_tensors(&of_tensor::left)},
                {"arrived_seconds", of_tensors(&of_tensor::arrived)},
                {"decoded_seconds", of_tensors(&of_tensor::decoded)},
                {"agreed_seconds", round.agreed},
                {"ended_seconds", round.ended},
                {"apply_seconds", round.apply}};
    }

    static void add_costs(object& line, const round_report& round) {
        line["examples"] = round.examples;
        line["load_seconds"] = in_seconds(round.load);
        line["compute_seconds"] = in_seconds(round.compute);
        line["compress_seconds"] = in_seconds(round.compress);
        line["wait_seconds"] = in_seconds(round.wait);
        line["apply_seconds"] = in_seconds(round.apply);
        line["exchange_seconds"] = in_seconds(round.exchange);
        line["hidden_seconds"] = in_seconds(round.hidden);
        line["dense_bytes"] = round.dense_bytes;
        line["message_bytes"] = round.message_bytes;
        line["bytes_sent"] = round.bytes_sent;
        line["bytes_received"] = round.bytes_received;
        if (round.study_bytes > 0) line["study_bytes"] = round.study_bytes;
    }

    static void add_costs_of_steps(object& line, const round_report& sum) {
        add_costs(line, sum);
        if (sum.taught.listening > duration::zero())
            line["listening_seconds"] = in_seconds(sum.taught.listening);
    }

    static void add_evaluation(object& line, const std::optional<evaluation>& found) {
        if (!found) return;
        line["test_loss"] = found->loss;
        line["test_accuracy"] = found->accuracy;
        line["test_examples"] = found->examples;
        if (!found->own) return;
        for (const auto& [name, ranks] : {std::pair{"own_test_loss", &found->own->loss},
                                          std::pair{"own_test_accuracy", &found->own->accuracy}})
            line[name] = {{"least", ranks->least}, {"mean", ranks->mean}, {"most", ranks->most}};
    }

    /// What cannot be written is left out, and counted. `before`: steps that are in the log already
    /// or will never be.
    void write(const object& line, std::int64_t step, std::optional<std::int64_t> before = {}) {
        const std::error_code reason = put(line, before.value_or(step));
        if (!reason) return complaint_.worked();
        taught_.forget();
        leave_out(step, reason);
    }
    void leave_out(std::int64_t step, const std::error_code& reason) {
        ++skipped_;
        ++lacks_;
        skipped_because_ = reason.message();
        complaint_.failed(step, said("written", reason));
    }

    std::error_code put(const object& line, std::int64_t before) {
        if (!lacks_run_line_) {
            const std::error_code reason = put_behind_skipped(line);
            if (!detail::is_loss(reason)) return reason;
            is_lost_ |= reason != detail::file_fault::renamed;
            complaint_.lost(before,
                            what_happened(reason) + (reason == detail::file_fault::shortened
                                                         ? "; the run goes on in what is left of it"
                                                         : "; the run goes on in a new one"));
            taught_.forget();
            lacks_run_line_ = true;
        }
        first_line_["step"] = before;
        if (const std::error_code again = file_.write(detail::json_text(first_line_))) return again;
        lacks_run_line_ = false;
        return &line == &first_line_ ? std::error_code() : put_behind_skipped(line);
    }

    std::error_code put_behind_skipped(const object& line) {
        if (skipped_ > 0) {
            const std::error_code reason = file_.write(detail::json_text(
                {{"event", "skipped"}, {"lines", skipped_}, {"reason", skipped_because_}}));
            if (reason) return reason;
            skipped_ = 0;
        }
        return file_.write(detail::json_text(line));
    }

    /// The file that was only tried out: that of no model.
    void leave_to_nobody() const noexcept {
        std::error_code ignored;
        if (!was_there_ && std::filesystem::is_empty(file_.path(), ignored) && !ignored)
            std::filesystem::remove(file_.path(), ignored);
    }

    /// A file that was renamed is complete under its new name.
    std::string what_happened(const std::error_code& reason) const {
        if (reason != detail::file_fault::renamed) return said("completed", reason);
        return "json_lines: '" + file_.path().string() + "': " + reason.message();
    }
    std::string said(const char* what, const std::error_code& reason) const {
        return "json_lines: '" + file_.path().string() + "' cannot be " + what + ": " +
               reason.message();
    }
    [[noreturn]] void fail(const char* what, const std::error_code& reason) const {
        throw io_failure(said(what, reason));
    }

    detail::line_file file_;
    options options_;
    detail::complaint complaint_;
    detail::recent_rounds recent_;
    detail::taught_writer taught_;
    bool was_there_ = false;  // the file, before this object
    bool writes_ = false;
    bool begun_ = false;
    bool is_lost_ = false;         // what had been written
    bool lacks_run_line_ = false;  // the file that took the place of one that was lost
    object first_line_;            // of this `fit`
    std::int64_t last_step_ = 0;
    std::int64_t skipped_ = 0;  // lines since the last one that was written
    std::string skipped_because_;
    std::int64_t lacks_ = 0;  // lines of the whole run
};

}  // namespace sotto
