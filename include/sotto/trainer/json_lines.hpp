#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotto/core/errors.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/peak_memory.hpp"

namespace sotto {

/// What json_lines writes, and who.
struct json_lines_options {
    std::int64_t every_steps = 1;  // a step's line is left out unless its number is a multiple
    bool every_rank = false;       // else rank 0 alone; other ranks' files are named PATH.rank1 ...
    bool append = false;           // goes on in a file that is there: after a crash
};

/// Writes a run to a file, one JSON object a line, each with its "event" first:
///   run     rank, world_size, epochs asked for, examples of this rank and steps an epoch, step;
///           options and tensors of the whole run. First
///   step    step (counted from 1), epoch (passes over the data when it began, with their
///           fraction), rank_loss (mean over this rank's batch), costs of the step,
///           tensor_message_bytes
///   epoch   epoch (counted from 1), complete (false where `fit` ended inside it), step, loss (mean
///           over all ranks' examples), test_loss, test_accuracy and test_examples where it was
///           evaluated, costs of the epoch, peak_memory_bytes of the process so far
///   checkpoint   step, path; failure, the reason, where it could not be written
///   end     epochs and steps of this `fit`, step, loss and test of the last epoch, stopped_early,
///           costs of this `fit`, peak_memory_bytes. Last
/// `step` counts those completed over all calls of `fit`. A log that is given to `fit` again goes
/// on in its file, with a run line. All but the run line have seconds_since_start. Costs are this
/// rank's: examples; load_, compute_, compress_, wait_ and apply_seconds; dense_bytes (gradients as
/// floats), message_bytes (what they became, once), bytes_sent and bytes_received (on the wire,
/// every copy counted). What is not a finite number is null.
///   errors  throws io_failure, naming the file and the system's reason, when it cannot be opened
///           or written; invalid_option: every_steps below 1
class json_lines {
public:
    explicit json_lines(std::filesystem::path path, json_lines_options options = {})
        : path_(std::move(path)), options_(options) {
        if (options.every_steps < 1)
            throw invalid_option("json_lines: every_steps is " +
                                 std::to_string(options.every_steps) + "; it must be at least 1");
        open("ab");  // now, not after the data were read: can it be written?
        if (!options.append) file_.reset();
    }

    void on_begin(const run_info& info) {
        if (info.rank != 0 && !options_.every_rank) {
            file_.reset();
            return;
        }
        if (!begun_ && (info.rank != 0 || !options_.append)) {
            if (info.rank != 0) path_ += ".rank" + std::to_string(info.rank);
            open(options_.append ? "ab" : "wb");
        }
        begun_ = true;
        object tensors = object::array();
        for (const tensor& t : *info.parameters)
            tensors.push_back({{"name", t.name}, {"shape", t.shape}, {"size", t.size}});
        write({{"event", "run"},
               {"rank", info.rank},
               {"world_size", info.world_size},
               {"epochs", info.epochs},
               {"examples", info.examples},
               {"steps_an_epoch", info.steps_an_epoch},
               {"step", info.steps_before},
               {"options", fields_of(info.description)},
               {"tensors", std::move(tensors)}});
    }

    void on_step(const step_report& report) {
        if (!file_ || report.step % options_.every_steps != 0) return;
        object line{{"event", "step"},
                    {"step", report.step},
                    {"epoch", report.epoch},
                    {"seconds_since_start", report.seconds},
                    {"rank_loss", report.round.loss}};
        add_costs(line, report.round);
        line["tensor_message_bytes"] = report.round.tensor_message_bytes;
        write(line);
    }

    void on_epoch(const epoch_report& report) {
        if (!file_) return;
        object line{{"event", "epoch"},
                    {"epoch", report.epoch},
                    {"complete", report.complete},
                    {"step", report.step},
                    {"seconds_since_start", report.seconds},
                    {"loss", report.loss}};
        add_evaluation(line, report.evaluated);
        add_costs(line, report.total);
        line["peak_memory_bytes"] = peak_memory_bytes();
        write(line);
    }

    void on_checkpoint(const checkpoint_report& report) {
        if (!file_) return;
        object line{{"event", "checkpoint"},
                    {"step", report.step},
                    {"seconds_since_start", report.seconds},
                    {"path", report.path}};
        if (!report.failure.empty()) line["failure"] = report.failure;
        write(line);
    }

    void on_end(const fit_report& report) {
        if (!file_) return;
        object line{{"event", "end"},
                    {"epochs", report.epochs},
                    {"steps", report.steps},
                    {"step", report.step},
                    {"seconds_since_start", report.seconds},
                    {"stopped_early", report.stopped_early},
                    {"loss", report.loss}};
        add_evaluation(line, report.evaluated);
        add_costs(line, report.total);
        line["peak_memory_bytes"] = peak_memory_bytes();
        write(line);
    }

private:
    using object = nlohmann::ordered_json;

    /// Lines of "name = value" as an object.
    static object fields_of(std::string_view text) {
        object fields = object::object();
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
            const std::size_t middle = line.find(" = ");
            if (middle != line.npos)
                fields[std::string(line.substr(0, middle))] = line.substr(middle + 3);
        }
        return fields;
    }

    static void add_costs(object& line, const round_report& round) {
        line["examples"] = round.examples;
        line["load_seconds"] = in_seconds(round.load);
        line["compute_seconds"] = in_seconds(round.compute);
        line["compress_seconds"] = in_seconds(round.compress);
        line["wait_seconds"] = in_seconds(round.wait);
        line["apply_seconds"] = in_seconds(round.apply);
        line["dense_bytes"] = round.dense_bytes;
        line["message_bytes"] = round.message_bytes;
        line["bytes_sent"] = round.bytes_sent;
        line["bytes_received"] = round.bytes_received;
    }

    static void add_evaluation(object& line, const std::optional<evaluation>& found) {
        if (!found) return;
        line["test_loss"] = found->loss;
        line["test_accuracy"] = found->accuracy;
        line["test_examples"] = found->examples;
    }

    void open(const char* how) {
        file_.reset(std::fopen(path_.c_str(), how));
        if (!file_) fail("opened for writing");
    }

    void write(const object& line) {
        // A path or an option need not be UTF-8: what is not is replaced, not an error.
        const std::string text = line.dump(-1, ' ', false, object::error_handler_t::replace) + "\n";
        if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
            std::fflush(file_.get()) != 0)
            fail("written");
    }

    [[noreturn]] void fail(const char* what) const {
        const std::error_code reason(errno, std::generic_category());
        throw io_failure("json_lines: '" + path_.string() + "' cannot be " + what + ": " +
                         reason.message());
    }

    struct closer {
        void operator()(std::FILE* file) const noexcept { std::fclose(file); }
    };

    std::filesystem::path path_;
    json_lines_options options_;
    bool begun_ = false;
    std::unique_ptr<std::FILE, closer> file_;
};

}  // namespace sotto
