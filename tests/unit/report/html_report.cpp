#include "sotto/report/html_report.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

#include "sotto/compressors/dgc.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/devices.hpp"
#include "support/folders.hpp"
#include "support/full_at.hpp"
#include "support/made_up_run.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using testing::fault_of, testing::has, testing::made_up;

namespace {

/// A file of this name that is gone with the object.
struct scratch_file {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("sotto_html_report_" + std::to_string(::getpid()) + ".html");
    ~scratch_file() { std::filesystem::remove(path); }
    std::string text() const {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    bool unfinished_is_left() const {
        return std::filesystem::exists(path.string() + ".unfinished");
    }
};

}  // namespace

TEST_CASE("a training report calibrates at the end alone") {
    const scratch_file file;
    std::string meanwhile;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
        const auto look = [&](const epoch_report&) {
            if (transport.rank() == 0) meanwhile = file.text();
        };
        trainer.fit(testing::numbered{24}, epochs{1},
                    html_report{file.path, {.report = {.calibrate = true}}}, look);
    });
    CHECK(has(meanwhile, "nothing to compare yet"));
    CHECK(has(file.text(), "from compressors measured on this machine"));
}

TEST_CASE("a report that cannot be written names file and reason and leaves the old one") {
    CHECK_THROWS_WITH_AS(write_report(made_up("a", 10, 1.0, 0.5), "/dev/null/report.html"),
                         "write_report: '/dev/null/report.html' cannot be written: cannot create "
                         "'/dev/null/report.html.unfinished': Not a directory",
                         io_failure);
    CHECK_THROWS_AS(write_report(made_up("a", 10, 1.0, 0.5), "r.html",
                                 {.link = network_link{.bytes_per_second = -1.0}}),
                    invalid_option);
    const scratch_file file;
    write_report(made_up("a", 10, 1.0, 0.5), file.path);
    const std::string before = file.text();
    CHECK(before.ends_with("</html>\n"));
    CHECK_FALSE(file.unfinished_is_left());
    {
        const testing::full_at full(1000);
        CHECK_THROWS_WITH_AS(
            write_report(made_up("b", 10, 1.0, 0.5), file.path),
            ("write_report: '" + file.path.string() + "' cannot be written: cannot write '" +
             file.path.string() + ".unfinished': File too large")
                .c_str(),
            io_failure);
    }
    CHECK(file.text() == before);
    CHECK_FALSE(file.unfinished_is_left());
}

TEST_CASE("html_report: a link or a device -> the link's file, or refused at the start") {
    const testing::scratch_folder folder("html_report");
    const auto link = folder.path() / "latest.html", device = folder.path() / "null.html";
    std::filesystem::create_symlink("run7.html", link);
    testing::make_null_device(device);
    const layout tensors;
    html_report report(link);
    report.on_begin({.parameters = &tensors});
    CHECK(std::filesystem::is_symlink(link));
    CHECK(std::filesystem::file_size(folder.path() / "run7.html") > 1000);
    for (const char* const model : {"", "group-0"}) {
        html_report into_device(device);
        CHECK_THROWS_WITH_AS(
            into_device.on_begin({.parameters = &tensors, .model = model}),
            ("write_report: '" + device.string() + "' cannot be written: cannot replace '" +
             device.string() + "': it is a device; expected a regular file or a new name")
                .c_str(),
            io_failure);
    }
    CHECK(std::filesystem::is_character_file(device));
}

TEST_CASE("a report is there while training goes on, by rank 0 alone, and reloads itself") {
    const scratch_file file;
    std::vector<std::string> meanwhile;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{sgd{}, dgc{}}, transport, {.batch_size = 4}};
        html_report report(file.path, {.name = "live", .every_seconds = 60.0, .every_epochs = 2});
        const auto look = [&](const epoch_report&) {
            if (transport.rank() == 0) meanwhile.push_back(file.text());
        };
        trainer.fit(testing::numbered{24}, epochs{3}, evaluate_on{testing::numbered{5}}, report,
                    look);
        CHECK(report.log().fits == (transport.rank() == 0 ? 1 : 0));
    });
    REQUIRE(meanwhile.size() == 3);
    CHECK(meanwhile[0].find("0 steps") != std::string::npos);  // written when fit began
    CHECK(meanwhile[1].find("6 steps") != std::string::npos);  // and after the second epoch
    CHECK(meanwhile[2] == meanwhile[1]);
    for (const std::string& text : meanwhile) {
        CHECK(has(text, "http-equiv=\"refresh\" content=\"60\""));
        CHECK(fault_of(text) == "");
    }
    CHECK_FALSE(has(file.text(), "refresh"));
    CHECK(has(file.text(), "9 steps"));
    CHECK_THROWS_AS(html_report("r.html", {.every_seconds = -1.0}), invalid_option);
    CHECK_THROWS_AS(html_report("r.html", {.every_epochs = -1}), invalid_option);
}

TEST_CASE("a report that cannot be written any more ends no training, and comes back") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("sotto_reports_" + std::to_string(::getpid()));
    const std::filesystem::path path = folder / "report.html";
    static std::vector<detail::write_failure> complaints;
    complaints.clear();
    const html_report::options options{
        .every_epochs = 1,
        .on_failure = [](const detail::write_failure& failure) { complaints.push_back(failure); }};
    const layout nothing;
    CHECK_THROWS_AS(html_report("/dev/null/r.html", options).on_begin({.parameters = &nothing}),
                    io_failure);
    std::int64_t steps_done = 0;
    std::vector<bool> there;
    std::vector<std::string> incomplete;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
        const auto change = [&](const epoch_report& epoch) {
            if (transport.rank() != 0) return;
            there.push_back(std::filesystem::exists(path));
            if (epoch.epoch == 2 || epoch.epoch == 5) return;
            std::filesystem::remove_all(folder);
            if (epoch.epoch != 3) std::ofstream(folder) << "in the way of a folder";
        };
        html_report report(path, options);
        const fit_report whole = trainer.fit(testing::numbered{24}, epochs{5}, report, change);
        if (transport.rank() == 0) {
            steps_done = whole.steps;
            incomplete = whole.incomplete;
        } else {
            CHECK(whole.incomplete.empty());
        }
    });
    CHECK(steps_done == 15);
    CHECK(there == std::vector<bool>{true, false, false, true, false});
    REQUIRE(complaints.size() == 2);  // after the second epoch, and again after the fifth
    CHECK(complaints[0].step == 6);
    const std::string reason = "write_report: '" + path.string() +
                               "' cannot be written: cannot create '" + path.string() +
                               ".unfinished': Not a directory";
    CHECK(complaints[0].reason == reason);
    CHECK(incomplete == std::vector{reason});
    CHECK(complaints[1].step == 15);
    std::filesystem::remove_all(folder);
}

TEST_CASE("the report of a run that goes on holds its first part, if it is given") {
    const scratch_file file;
    layout tensors;
    tensors.add("w", {100, 10}).add("b", {10}, tensor_kind::bias);
    const run_info info{.world_size = 4, .steps_before = 30, .parameters = &tensors};
    const run_log first = made_up("first", 40, 0.05, 0.9);

    html_report report(file.path, {.name = "whole", .earlier = first});
    report.on_begin(info);
    CHECK(report.log().name == "whole");
    CHECK(report.log().fits == 2);
    CHECK(report.log().steps == 40);
    CHECK(report.log().last_step == 30);
    CHECK(report.log().steps_missing == 0);
    CHECK(report.log().total.bytes_sent == first.total.bytes_sent);

    html_report without(file.path);
    without.on_begin(info);
    CHECK(without.log().steps_missing == 30);
    CHECK(has(file.text(),
              "the first 30 steps are not in this log; seconds and bytes are without them"));

    html_report anew(file.path, {.earlier = first});  // that run was begun again
    anew.on_begin({.world_size = 4, .parameters = &tensors});
    CHECK(anew.log().fits == 1);
    CHECK(anew.log().steps == 0);
}
