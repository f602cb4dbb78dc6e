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

/// Writes a run to a file as JSON lines: one object per line, "event" first. Creates the file's
/// folder if needed. If a job trains several models, as with codistillation, each model has its own
/// file: run.group-0.jsonl and run.group-1.jsonl for run.jsonl, see path_of_model.
///
///   run     first line of a call of `fit`: rank, world_size, epochs left to train, examples of
///           this rank, steps_an_epoch, step. options and tensors are those of the whole run
///   run.in_step  false if ranks do not wait for each other
///   run.simulated_network  its parameters, if all seconds and clocks below are simulated
///   run.model  name of this rank's model, with model_ranks, the number of ranks that train it, if
///           the job trains several models
///   run.server_memory  bytes that the server on this rank takes, if there is one
///   run.mixing  if ranks mix with neighbours: ranks, period (in rounds; 0: random rounds),
///           topology, degree, link_count and links, each [from, to, weight], empty above 16,384.
///           second_singular_value and p if known. bytes_a_round of a rank if all rounds have as
///           many. ranks_may_go if ranks may leave: then all of this describes the initial ranks
///   step    step (counted from 1), epoch (passes over the data before it, with their fraction),
///           rank_loss (mean over this rank's batch), costs of the step, tensor_message_bytes.
///           began_seconds by the transport's clock, if the strategy measures it
///   step.consensus  if ranks mix with neighbours, as in consensus_report: rounds, and if measured
///           change, estimate, distance, target, critical, learning_rate and gradient_norm. missed
///           if the target was missed. squared_changes and squared_distances by tensor: their roots
///           over learning_rate times gradient_norm are distances in steps
///   step.taught  if other models teach, as in taught_report: teachers (number used),
///           listening_seconds (part of compute_seconds). If any was used age, weight,
///           distillation_loss and agreement
///   step.taught.standings  one for each teacher, used or not: group, and if present step of its
///           model, why it is left out, and label_loss. details if they changed since the line
///           before
///   step.taught  also, about models that this rank publishes: model_bytes_sent and models_skipped
///           since the run line, if above 0. problem, why the last model could not be published, if
///           it changed since the line before; "" once solved
///   epoch   epoch (counted from 1), complete (false if `fit` ended inside it), step, costs of the
///           epoch, peak_memory_bytes of the process so far. loss is the mean over the examples of
///           all ranks or, if not in step, of this rank
///   epoch   also, after an evaluation: test_loss, test_accuracy and test_examples, of the common
///           model or, if not in step, of this rank. If the ranks' own models were evaluated
///           own_test_loss and own_test_accuracy, each with least, mean and most over the ranks
///   round   the round of median length of the last nine before its epoch's line: step, agreed_ and
///           ended_seconds of the round, apply_seconds. By tensor ready_, left_, arrived_ and
///           decoded_seconds. All except apply_seconds count from the start of the round. Only if
///           several ranks train and the strategy measures these times
///   server  on a rank that serves, after an epoch's line and before the end: rank, version (steps
///           that it took), dropped_share of the gradients of all workers
///   server.workers  each with rank, rounds (gradients that it pushed), dropped, dropped_share,
///           waited_seconds between pushes and answers, staleness (number of gradients that were 0,
///           1, ... steps late). lost_rounds if the server failed and restarted without rounds that
///           it had acknowledged
///   server.saves  if the server writes checkpoints: folder, written and failed (counts), last_step
///           (the server's step at the last one written), failure (reason of the last that failed)
///   checkpoint  step, path, and the reason as failure if it could not be written
///   skipped  lines (number that could not be written before this one), reason
///   end     last line of a call of `fit`: epochs and steps of the call, step, loss and test of the
///           last epoch, stopped_early, costs of the call, peak_memory_bytes
///   end.losses  if ranks were lost while others continued: rank, cause, and lost_rounds, rounds of
///           this rank that the lost server had acknowledged and restarted without. With gossip
///           also step (of this rank at that time), seconds (since its `fit` began), and again_step
///           if the rank returned
///   churn   added after the run, see append_churn
///
/// `step` counts completed steps over all calls of `fit`. All lines except run, round and skipped
/// have seconds_since_start. A number that is not finite is null. Costs are this rank's:
///   examples            number computed
///   seconds             load_, compute_, compress_, wait_ and apply_seconds
///   exchange_seconds    time with a transfer in flight
///   hidden_seconds      the part of exchange_seconds during which the rank had work of its own
///   listening_seconds   of several steps: the part of compute_seconds for teachers, if above 0
///   dense_bytes         gradients as floats
///   message_bytes       encoded gradients, each counted once
///   bytes_sent, bytes_received   on the wire, every copy counted
///   study_bytes         the part of bytes_sent that measures distances exactly, if above 0
///
/// A log continues in its file, with a new run line, if it is passed to `fit` again. It also
/// continues if the run continues that of an earlier process: after `resume`, or if servers have
/// rounds of this rank. A partial last line, left by a crash, is removed. A call of `fit` that an
/// earlier process had completed adds nothing.
///
/// A full or failing disk does not end training. Lines that cannot be written are skipped and
/// on_failure is called; the next line that can be written reports their number. If the file is
/// removed, renamed or shortened during training, as by log rotation, on_failure is called once.
/// The run then continues in a file of that name with another run line. fit_report::incomplete
/// reports missing lines.
///
/// The path may be a device or a FIFO, which is opened without blocking: a FIFO needs a reader
/// then. Lines are skipped if the reader takes none for a second.
///   errors  the constructor and on_begin throw io_failure, naming the file and the system's
///           reason, if they cannot open or write the file; invalid_option: every_steps below 1
class json_lines {
public:
    /// Selects the lines to write and the ranks that write them.
    struct options {
        std::int64_t every_steps = 1;  // writes a step's line if its number is a multiple
        /// True: every rank writes, to PATH, PATH.rank1 and so on. False: the first rank of each
        /// model.
        bool every_rank = false;
        bool append = false;  // true: append, even if the run starts from step 0
        /// Called when the log begins to skip lines; may be null.
        void (*on_failure)(const detail::write_failure&) = detail::complain_of_writing;
    };

    /// Writes to `path`; throws invalid_option if the path is empty.
    explicit json_lines(const std::string& path) : json_lines(path, options{}) {}
    /// Writes to `path`; throws invalid_option if the path is empty or every_steps below 1.
    explicit json_lines(const std::string& path, options chosen);

    void on_begin(const run_info& info);

    void on_step(const step_report& report);

    void on_epoch(const epoch_report& report);

    void on_checkpoint(const checkpoint_report& report);

    void on_end(const fit_report& report);

    /// Returns why the file lacks lines of the run; empty if it is complete.
    std::string incomplete() const;

private:
    using object = nlohmann::ordered_json;

    /// Returns the options of a description as an object.
    static object fields_of(std::string_view text);

    static object line_of(const detail::round_times& round);

    static void add_costs(object& line, const round_report& round);

    static void add_costs_of_steps(object& line, const round_report& sum);

    static void add_evaluation(object& line, const std::optional<evaluation>& found);

    /// Writes a line, or skips and counts it. `before` is the step of a new run line, if the file
    /// was lost: the last step that is already logged or never will be.
    void write(const object& line, std::int64_t step, std::optional<std::int64_t> before = {});
    void leave_out(std::int64_t step, const std::error_code& reason);

    std::error_code put(const object& line, std::int64_t before);

    std::error_code put_behind_skipped(const object& line);

    /// Removes the file that the constructor created: with several models none uses its plain name.
    void leave_to_nobody() const noexcept;

    /// Describes the loss of the file. A renamed file is complete under its new name.
    std::string what_happened(const std::error_code& reason) const;
    std::string said(const char* what, const std::error_code& reason) const;
    [[noreturn]] void fail(const char* what, const std::error_code& reason) const;

    detail::line_file file_;
    options options_;
    detail::complaint complaint_;
    detail::recent_rounds recent_;
    detail::taught_writer taught_;
    bool was_there_ = false;  // true: the file existed before this object
    bool writes_ = false;
    bool begun_ = false;
    bool is_lost_ = false;                // true: part of the log was lost
    bool lacks_run_line_ = false;         // true: the replacement file still needs a run line
    std::shared_ptr<object> first_line_;  // run line of this `fit`; never null
    std::int64_t last_step_ = 0;
    std::int64_t skipped_ = 0;  // number of lines since the last one written
    std::string skipped_because_;
    std::int64_t lacks_ = 0;  // number of lines missing in the whole run
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/json_lines.ipp"
#endif
