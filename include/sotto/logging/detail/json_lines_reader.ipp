#pragma once

#include "sotto/logging/detail/json_lines_reader.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "sotto/core/config.hpp"
#include "sotto/logging/detail/round_times.hpp"
#include "sotto/logging/detail/server_lines.hpp"
#include "sotto/logging/detail/taught_lines.hpp"

namespace sotto::detail {

SOTTO_DECL json_lines_reader::json_lines_reader(const std::string& name) : json_line_checks(name) {
    log_.name = name;
}

SOTTO_DECL void json_lines_reader::line(std::string_view text) {
    next_line();
    const json parsed = parse(text);
    const std::string& event = text_of(parsed, "event");
    if (event == "run") return run(parsed);
    if (log_.fits == 0) refuse("an event \"run\" first", quoted(event));
    if (event == "step") return step(parsed);
    if (event == "epoch") return epoch(parsed);
    if (event == "round") return round(parsed);
    if (event == "server") return server(parsed);
    if (event == "checkpoint") return checkpoint(parsed);
    if (event == "skipped") return skipped(parsed);
    if (event == "end") return end(parsed);
    if (event == "churn") return churned(parsed);
}

SOTTO_DECL void json_lines_reader::cut_line(std::size_t length) {
    next_line();
    log_.diagnostics.push_back({log_.last_step, "the log ends inside line " +
                                                    std::to_string(lines()) + ", after " +
                                                    std::to_string(length) + " bytes of it"});
}

SOTTO_DECL void json_lines_reader::run(const json& line) {
    run_log::start start{
        .rank = rank_of(line),
        .world_size = static_cast<int>(count(line, "world_size", 1, 1 << 24)),
        .steps_before = log_.last_step,
        .steps_an_epoch = count(line, "steps_an_epoch"),
        .examples = count(line, "examples"),
    };
    if (line.contains("step")) start.steps_before = count(line, "step");
    const json& options = object_of(line, "options");
    for (const auto& [name, value] : options.items()) {
        if (!value.is_string()) refuse_member("options." + name, "a string", value);
        start.options.emplace_back(name, value.get_ref<const std::string&>());
    }
    for (const json& each : list(line, "tensors")) {
        if (!each.is_object()) refuse_member("tensors[]", "an object", each);
        run_tensor t{.name = text_of(each, "name"), .shape = {}, .size = count(each, "size")};
        for (const json& extent : list(each, "shape"))
            t.shape.push_back(whole(extent, "shape[]", 0, count_max));
        start.tensors.push_back(std::move(t));
    }
    if (line.contains("server_memory")) start.serves = memory_of_server(line);
    if (line.contains("mixing")) start.mixing = graph_of(line);
    if (line.contains("in_step")) start.in_step = flag(line, "in_step");
    if (line.contains("simulated_network"))
        start.simulated_network = text_of(line, "simulated_network");
    if (line.contains("model")) {
        start.model = text_of(line, "model");
        start.model_ranks = static_cast<int>(count(line, "model_ranks", 1, start.world_size));
    }
    log_.begin(std::move(start));
    published_ = {};
}

SOTTO_DECL void json_lines_reader::step(const json& line) {
    run_log::step s{.number = count(line, "step", log_.last_step + 1),
                    .epoch = number(line, "epoch", count_max),
                    .seconds = seconds_since_start(line),
                    .loss = loss(line, "rank_loss"),
                    .costs = costs(line)};
    if (line.contains("began_seconds")) s.clock = number(line, "began_seconds", seconds_max);
    tensor_bytes_.clear();
    for (const json& each : list(line, "tensor_message_bytes"))
        tensor_bytes_.push_back(whole(each, "tensor_message_bytes[]", 0, bytes_max));
    if (!tensor_bytes_.empty() && tensor_bytes_.size() != log_.about.tensors.size())
        refuse("as many tensor_message_bytes as the run has tensors, " +
                   std::to_string(log_.about.tensors.size()),
               std::to_string(tensor_bytes_.size()));
    s.tensor_message_bytes = tensor_bytes_;
    if (line.contains("consensus")) s.consensus = consensus_of(line);
    if (line.contains("taught")) {
        s.taught = taught_of(line);
        s.costs.listening = number(member(line, "taught"), "listening_seconds", seconds_max);
    }
    log_.add(s);
    if (line.contains("taught")) std::swap(published_, next_published_);
}

SOTTO_DECL void json_lines_reader::epoch(const json& line) {
    run_log::finished_epoch e{.epoch = count(line, "epoch"),
                              .step = count(line, "step", log_.last_step),
                              .complete = flag(line, "complete"),
                              .seconds = seconds_since_start(line),
                              .loss = loss(line, "loss"),
                              .costs = costs(line)};
    e.evaluated = evaluated(line);
    const double memory = memory_of(line);
    log_.add(std::move(e));
    log_.peak_memory_bytes = (std::max)(log_.peak_memory_bytes, memory);
}

SOTTO_DECL void json_lines_reader::round(const json& line) {
    round_times r{.step = count(line, "step", 1)};
    r.tensors.resize(log_.about.tensors.size());
    const auto after = [&](const json& value, const char* name, double least) {
        if (!value.is_number() || !(value.get<double>() >= least) ||
            value.get<double>() > seconds_max)
            refuse_member(name, "a number that is not below " + std::to_string(least), value);
        return value.get<double>();
    };
    const auto of_tensors = [&](const char* name, auto&& before, auto time) {
        const json& values = list(line, name);
        if (values.size() != r.tensors.size())
            refuse("as many " + std::string(name) + " as the run has tensors, " +
                       std::to_string(r.tensors.size()),
                   std::to_string(values.size()));
        for (std::size_t i = 0; i < values.size(); ++i)
            r.tensors[i].*time = after(values[i], name, before(r.tensors[i]));
    };
    using of_tensor = round_times::of_tensor;
    of_tensors(
        "ready_seconds", [](const of_tensor&) { return 0.0; }, &of_tensor::ready);
    of_tensors(
        "left_seconds", [](const of_tensor& t) { return t.ready; }, &of_tensor::left);
    of_tensors(
        "arrived_seconds", [](const of_tensor& t) { return t.left; }, &of_tensor::arrived);
    of_tensors(
        "decoded_seconds", [](const of_tensor& t) { return t.arrived; }, &of_tensor::decoded);
    double last = 0.0;
    for (const of_tensor& t : r.tensors) last = (std::max)(last, t.decoded);
    r.agreed = after(member(line, "agreed_seconds"), "agreed_seconds", last);
    r.ended = after(member(line, "ended_seconds"), "ended_seconds", r.agreed);
    r.apply = number(line, "apply_seconds", seconds_max);
    log_.typical_round = std::move(r);
}

SOTTO_DECL consensus_report json_lines_reader::consensus_of(const json& line) {
    const json& fields = object_of(line, "consensus");
    consensus_report found;
    if (fields.contains("rounds")) found.rounds = count(fields, "rounds");
    for (const auto& [name, member] : detail::consensus_members)
        if (fields.contains(name)) found.*member = number(fields, name, distance_max);
    if (fields.contains("missed")) found.missed = flag(fields, "missed");
    for (std::size_t i = 0; i < by_tensor_.size(); ++i) {
        const auto& [name, member] = detail::consensus_tensor_members[i];
        const std::string each_name = std::string(name) + "[]";
        std::vector<double>& values = by_tensor_[i];
        values.clear();
        if (fields.contains(name))
            for (const json& each : list(fields, name))
                values.push_back(not_negative(each, each_name.c_str(), distance_max));
        if (!values.empty() && values.size() != log_.about.tensors.size())
            refuse(std::string("as many ") + name + " as the run has tensors, " +
                       std::to_string(log_.about.tensors.size()),
                   std::to_string(values.size()));
        found.*member = values;
    }
    return found;
}

SOTTO_DECL taught_report json_lines_reader::taught_of(const json& line) {
    const json& fields = object_of(line, "taught");
    taught_report found{.teachers = static_cast<int>(count(fields, "teachers", 0, 1 << 24))};
    standings_.clear();
    for (const json& each : list(fields, "standings")) standings_.push_back(standing_of(each));
    found.standings = standings_;
    next_published_ = published_;
    const auto counted = [&](const char* name, std::int64_t& total) {
        const std::int64_t before = total;
        if (fields.contains(name)) total = count(fields, name, before, bytes_max);
        return total - before;
    };
    found.bytes_sent = counted("model_bytes_sent", next_published_.bytes);
    found.skipped = counted("models_skipped", next_published_.skipped);
    if (fields.contains("problem")) next_published_.problem = text_of(fields, "problem");
    found.problem = next_published_.problem;
    const auto heard = std::count_if(standings_.begin(), standings_.end(),
                                     [](const auto& s) { return s.why == left_out::no; });
    if (found.teachers > heard && standings_.size() < detail::teachers_max)
        refuse("at most as many teachers as standings without a \"why\", " + std::to_string(heard),
               std::to_string(found.teachers));
    if (found.teachers == 0) return found;
    found.age = whole(member(fields, "age"), "age", -count_max, count_max);
    found.weight = number(fields, "weight", distance_max);
    found.distillation_loss = loss(fields, "distillation_loss");
    found.agreement = share(fields, "agreement");
    return found;
}

SOTTO_DECL teacher_status json_lines_reader::standing_of(const json& each) {
    if (!each.is_object()) refuse_member("standings[]", "an object", each);
    if (standings_.size() == detail::teachers_max)
        refuse("at most " + std::to_string(detail::teachers_max) + " standings", "more");
    const std::int64_t least = standings_.empty() ? 0 : standings_.back().group + 1;
    teacher_status found{.group = static_cast<int>(count(each, "group", least, 1 << 24)),
                         .why = left_out::no};
    if (each.contains("step")) found.step = count(each, "step");
    if (each.contains("why")) {
        const std::string& why = text_of(each, "why");
        const auto reason = detail::reason_named(why);
        if (!reason) refuse_member("why", "a reason to leave a teacher out", each["why"]);
        found.why = *reason;
    } else if (found.step < 0) {
        refuse("a teacher that is listened to to have a \"step\"", "none");
    }
    if (each.contains("details")) found.details = text_of(each, "details");
    if (each.contains("label_loss")) found.label_loss = loss(each, "label_loss");
    return found;
}

SOTTO_DECL topologies::mixing_graph json_lines_reader::graph_of(const json& line) {
    const json& fields = object_of(line, "mixing");
    topologies::mixing_graph graph{.ranks = static_cast<int>(count(fields, "ranks", 1, 1 << 24)),
                                   .period = count(fields, "period"),
                                   .link_count = count(fields, "link_count")};
    if (fields.contains("second_singular_value"))
        graph.second_singular_value = number(fields, "second_singular_value", 1e6);
    if (fields.contains("p")) graph.p = number(fields, "p", 1.0);
    if (fields.contains("topology")) graph.topology = text_of(fields, "topology");
    if (fields.contains("degree"))
        graph.degree = static_cast<int>(count(fields, "degree", 0, graph.ranks - 1));
    if (fields.contains("bytes_a_round"))
        graph.bytes_a_round = count(fields, "bytes_a_round", 0, bytes_max);
    if (fields.contains("ranks_may_go")) graph.ranks_may_go = flag(fields, "ranks_may_go");
    const json& links = list(fields, "links");
    if (links.size() > topologies::mixing_graph::links_max)
        refuse("links of at most " + std::to_string(topologies::mixing_graph::links_max),
               std::to_string(links.size()));
    for (const json& each : links) {
        if (!each.is_array() || each.size() != 3)
            refuse_member("links[]", "[from, to, weight]", each);
        const auto rank = [&](std::size_t i) {
            return static_cast<int>(whole(each[i], "links[][]", 0, graph.ranks - 1));
        };
        graph.links.push_back({rank(0), rank(1), not_negative(each[2], "links[][2]", 1e6)});
    }
    return graph;
}

SOTTO_DECL server_memory json_lines_reader::memory_of_server(const json& line) {
    const json& fields = object_of(line, "server_memory");
    server_memory memory;
    for (const auto& [name, value] : detail::server_memory_members)
        memory.*value = count(fields, name, 0, bytes_max);
    return memory;
}

SOTTO_DECL void json_lines_reader::server(const json& line) {
    server_report told{.rank = rank_of(line), .version = count(line, "version")};
    for (const json& each : list(line, "workers")) {
        if (!each.is_object()) refuse_member("workers[]", "an object", each);
        served_worker w{.rank = rank_of(each),
                        .rounds = count(each, "rounds"),
                        .dropped = count(each, "dropped"),
                        .waited = number(each, "waited_seconds", seconds_max)};
        if (w.dropped > w.rounds)
            refuse_member("dropped", "at most the rounds", member(each, "dropped"));
        const json& counts = list(each, "staleness");
        if (counts.size() > static_cast<std::size_t>(staleness_counts::counts_max))
            refuse("staleness of at most " + std::to_string(staleness_counts::counts_max),
                   std::to_string(counts.size()));
        for (const json& late : counts)
            w.staleness.push_back(whole(late, "staleness[]", 0, count_max));
        if (each.contains("lost_rounds")) w.lost = count(each, "lost_rounds");
        told.workers.push_back(std::move(w));
    }
    if (line.contains("saves")) told.saves = saves_of(object_of(line, "saves"));
    log_.add(std::move(told));
}

SOTTO_DECL server_saves json_lines_reader::saves_of(const json& fields) {
    server_saves found{.folder = text_of(fields, "folder"),
                       .written = count(fields, "written"),
                       .failed = count(fields, "failed"),
                       .last_step = count(fields, "last_step")};
    if (fields.contains("failure")) found.failure = text_of(fields, "failure");
    return found;
}

SOTTO_DECL void json_lines_reader::checkpoint(const json& line) {
    const std::int64_t at = count(line, "step");
    const std::string& path = text_of(line, "path");
    if (!line.contains("failure")) return;
    log_.diagnostics.push_back(
        {at, "the checkpoint '" + path + "' was not written: " + text_of(line, "failure")});
}

SOTTO_DECL void json_lines_reader::churned(const json& line) {
    log_.churns.push_back({text_of(line, "to"),
                           {.difference = number(line, "difference", 1.0),
                            .flips = number(line, "flips", 1.0),
                            .examples = count(line, "examples")}});
}

SOTTO_DECL void json_lines_reader::end(const json& line) {
    const double at = seconds_since_start(line);
    const bool early = flag(line, "stopped_early");
    const std::optional<evaluation> found = evaluated(line);
    const double memory = memory_of(line);
    std::vector<rank_loss> lost;
    if (line.contains("losses"))
        for (const json& each : list(line, "losses")) {
            if (!each.is_object()) refuse_member("losses[]", "an object", each);
            lost.push_back({.rank = rank_of(each),
                            .cause = text_of(each, "cause"),
                            .rounds = count(each, "lost_rounds")});
            if (each.contains("step")) lost.back().step = count(each, "step");
            if (each.contains("seconds"))
                lost.back().seconds = number(each, "seconds", seconds_max);
            if (each.contains("again_step")) lost.back().again_step = count(each, "again_step");
        }
    log_.end(at, early, found, line.contains("bytes_sent") ? costs(line) : run_costs{});
    log_.losses = std::move(lost);
    log_.peak_memory_bytes = (std::max)(log_.peak_memory_bytes, memory);
}

SOTTO_DECL void json_lines_reader::skipped(const json& line) {
    const std::int64_t lines = count(line, "lines", 1);
    log_.diagnostics.push_back(
        {log_.last_step, std::to_string(lines) + " lines of the log could not be written: " +
                             text_of(line, "reason") + "; bytes and seconds are estimates there"});
    log_.leave_hole();
}

SOTTO_DECL std::optional<evaluation> json_lines_reader::evaluated(const json& line) {
    if (!line.contains("test_loss")) return std::nullopt;
    evaluation found{.loss = loss(line, "test_loss"),
                     .accuracy = share(line, "test_accuracy"),
                     .examples = count(line, "test_examples")};
    if (line.contains("own_test_loss")) {
        const auto over_all = [&](const char* name, auto read) {
            const json& ranks = object_of(line, name);
            return over_ranks{read(ranks, "least"), read(ranks, "mean"), read(ranks, "most")};
        };
        found.own = {
            over_all("own_test_loss", [&](auto& r, const char* n) { return loss(r, n); }),
            over_all("own_test_accuracy", [&](auto& r, const char* n) { return share(r, n); })};
    }
    return found;
}

SOTTO_DECL run_costs json_lines_reader::costs(const json& line) {
    const auto sized = [&](const char* name) {
        return static_cast<double>(count(line, name, 0, bytes_max));
    };
    const auto seconds = [&](const char* name) { return number(line, name, seconds_max); };
    const auto seconds_if_there = [&](const char* name) {  // older logs have none
        return line.contains(name) ? seconds(name) : 0.0;
    };
    return {.examples = static_cast<double>(count(line, "examples")),
            .load = seconds("load_seconds"),
            .compute = seconds("compute_seconds"),
            .compress = seconds("compress_seconds"),
            .wait = seconds("wait_seconds"),
            .apply = seconds("apply_seconds"),
            .exchange = seconds_if_there("exchange_seconds"),
            .hidden = seconds_if_there("hidden_seconds"),
            .listening = seconds_if_there("listening_seconds"),
            .dense_bytes = sized("dense_bytes"),
            .message_bytes = sized("message_bytes"),
            .bytes_sent = sized("bytes_sent"),
            .bytes_received = sized("bytes_received"),
            .study_bytes = line.contains("study_bytes") ? sized("study_bytes") : 0.0};
}

SOTTO_DECL double json_lines_reader::memory_of(const json& line) {
    if (!line.contains("peak_memory_bytes")) return log_.peak_memory_bytes;
    return static_cast<double>(count(line, "peak_memory_bytes", 0, bytes_max));
}

SOTTO_DECL double json_lines_reader::seconds_since_start(const json& line) {
    return number(line, "seconds_since_start", seconds_max);
}

}  // namespace sotto::detail
