// A checkpoint is a safetensors file: thirty lines of Python, written from the specification, read
// it and find what ranks held.

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "support/checkpointed.hpp"
#include "support/folders.hpp"

using namespace sotto;

namespace {

/// What a command writes; nothing if it fails.
std::vector<std::string> lines_of(const std::string& command) {
    std::string text;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    char piece[4096];
    while (const std::size_t got = std::fread(piece, 1, sizeof piece, pipe))
        text.append(piece, got);
    if (::pclose(pipe) != 0) return {};
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

std::string hex_of(byte_view values) {
    std::string text;
    for (const std::byte b : values) {
        char two[3];
        std::snprintf(two, sizeof two, "%02x", std::to_integer<unsigned>(b));
        text += two;
    }
    return text;
}

template <class Strategy>
void check(const Strategy& strategy) {
    const testing::scratch_folder scratch("numpy");
    std::map<std::string, std::string> expected;  // type, shape and bytes by name
    std::string configuration;
    run_in_process(2, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 7}};
        double loss = 0.0;  // of the epoch under way, summed over examples
        std::int64_t examples = 0;
        trainer.fit(testing::numbered{70}, steps{7}, checkpoints{scratch.path()},
                    [&](const step_report& report) {
                        loss += report.round.loss * static_cast<double>(report.round.examples);
                        examples += report.round.examples;
                    });
        REQUIRE(examples == 28);
        for (int rank = 0; rank < 2; ++rank) {
            if (rank == transport.rank()) {
                const auto expect = [&](const std::string& name, const char* type,
                                        const std::string& shape, byte_view values) {
                    expected[name] = type + (" " + shape) + " " + hex_of(values);
                };
                const auto tensors = [&](const std::string& section, const layout& all,
                                         std::span<const float> values) {
                    for (const tensor& t : all) {
                        std::string shape;
                        for (const std::int64_t extent : t.shape) {
                            if (!shape.empty()) shape += 'x';
                            shape += std::to_string(extent);
                        }
                        expect(section + "/" + t.name, "float32", shape, bytes_of(t.of(values)));
                    }
                };
                const std::string own = "rank" + std::to_string(rank);
                tensors("parameters", trainer.tensors(), trainer.parameters());
                tensors("buffers/" + own, model.buffer_layout(), model.buffers());
                struct visitor {
                    const std::string& own;
                    const decltype(expect)& to;
                    void operator()(const std::string& name, std::span<float> values,
                                    kept how = kept::alike) const {
                        to("state/" + (how == kept::apart ? own + "/" : "") + name, "float32",
                           std::to_string(values.size()), bytes_of(std::span<const float>(values)));
                    }
                    void operator()(const std::string& name, std::int64_t& value,
                                    kept = kept::alike) const {
                        to("state/" + name, "int64", "",
                           bytes_of(std::span<const std::int64_t>(&value, 1)));
                    }
                };
                trainer.state().visit(visitor{own, expect});
                expect("state/" + own + "/epoch/examples", "int64", "",
                       bytes_of(std::span<const std::int64_t>(&examples, 1)));
                expect("state/" + own + "/epoch/loss", "float64", "",
                       bytes_of(std::span<const double>(&loss, 1)));
                configuration = trainer.description();
            }
            transport.agree(true);
        }
    });
    const std::string script =
        (std::filesystem::path(__FILE__).parent_path() / "read_safetensors.py").string();
    const auto file = scratch.path() / "checkpoint-000000000007.safetensors";
    const auto lines = lines_of("/usr/bin/python3 '" + script + "' '" + file.string() + "'");
    REQUIRE_FALSE(lines.empty());
    std::size_t tensors = 0;
    bool step = false, world = false, configured = false;
    for (const std::string& line : lines) {
        if (line.find("tensor ") == 0) {
            const std::size_t end = line.find(' ', 7);
            const std::string name = line.substr(7, end - 7);
            ++tensors;
            if (name == "digest") {
                CHECK(line.substr(end + 1).find("uint8 32 ") == 0);
                continue;
            }
            REQUIRE(expected.count(name) == 1);
            CHECK(line.substr(end + 1) == expected[name]);
        }
        step |= line == "metadata step \"7\"";
        world |= line == "metadata world_size \"2\"";
        if (line.find("metadata configuration \"") == 0)
            configured = line.find("trainer.seed = 7\\n") != line.npos;
    }
    CHECK(tensors == expected.size() + 1);
    CHECK(step);
    CHECK(world);
    CHECK(configured);
}

}  // namespace

TEST_CASE("numpy reads every value of a checkpoint") {
    if (std::system("/usr/bin/python3 -c 'import numpy' > /dev/null 2>&1") != 0) {
        MESSAGE("skipped: /usr/bin/python3 with numpy is not there (Debian: python3-numpy)");
        return;
    }
    check(all_reduce{sgd{.learning_rate = 0.0625}, dgc{.density = 0.125}});
    check(all_reduce{adamw{}});
}
