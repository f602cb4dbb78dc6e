#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <nlohmann/json_fwd.hpp>

#include "sotto/core/detail/files/line_file.hpp"
#include "sotto/logging/detail/recent_rounds.hpp"
#include "sotto/logging/detail/round_times.hpp"
#include "sotto/logging/detail/taught_lines.hpp"
#include "sotto/logging/detail/write_failure.hpp"
#include "sotto/trainer/callback.hpp"

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
    explicit json_lines(const std::string& path) : json_lines(path, options{}) {}
    /// Into this file, as the options say; throws the same.
    explicit json_lines(const std::string& path, options chosen);

    void on_begin(const run_info& info);

    void on_step(const step_report& report);

    void on_epoch(const epoch_report& report);

    void on_checkpoint(const checkpoint_report& report);

    void on_end(const fit_report& report);

    /// Why the file lacks lines of the run; empty: it has all of them.
    std::string incomplete() const;

private:
    using object = nlohmann::ordered_json;

    /// The options of a description as an object.
    static object fields_of(std::string_view text);

    static object line_of(const detail::round_times& round);

    static void add_costs(object& line, const round_report& round);

    static void add_costs_of_steps(object& line, const round_report& sum);

    static void add_evaluation(object& line, const std::optional<evaluation>& found);

    /// What cannot be written is left out, and counted. `before`: steps that are in the log already
    /// or will never be.
    void write(const object& line, std::int64_t step, std::optional<std::int64_t> before = {});
    void leave_out(std::int64_t step, const std::error_code& reason);

    std::error_code put(const object& line, std::int64_t before);

    std::error_code put_behind_skipped(const object& line);

    /// The file that was only tried out: that of no model.
    void leave_to_nobody() const noexcept;

    /// A file that was renamed is complete under its new name.
    std::string what_happened(const std::error_code& reason) const;
    std::string said(const char* what, const std::error_code& reason) const;
    [[noreturn]] void fail(const char* what, const std::error_code& reason) const;

    detail::line_file file_;
    options options_;
    detail::complaint complaint_;
    detail::recent_rounds recent_;
    detail::taught_writer taught_;
    bool was_there_ = false;  // the file, before this object
    bool writes_ = false;
    bool begun_ = false;
    bool is_lost_ = false;                // what had been written
    bool lacks_run_line_ = false;         // the file that took the place of one that was lost
    std::shared_ptr<object> first_line_;  // of this `fit`; never null
    std::int64_t last_step_ = 0;
    std::int64_t skipped_ = 0;  // lines since the last one that was written
    std::string skipped_because_;
    std::int64_t lacks_ = 0;  // lines of the whole run
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/json_lines.ipp"
#endif
