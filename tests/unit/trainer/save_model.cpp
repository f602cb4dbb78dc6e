#include "sotto/trainer/save_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotto/checkpoint/detail/own_state.hpp"
#include "sotto/checkpoint/saved_model.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/distillation/soft_cross_entropy.hpp"
#include "sotto/models/ensemble.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/staleness/no_compensation.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/codistillation/exchanges/transport_exchange.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/trainer/initialized_from.hpp"
#include "sotto/trainer/publish.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/devices.hpp"
#include "support/folders.hpp"
#include "support/memory_disk.hpp"
#include "support/numbers.hpp"
#include "support/saved_models.hpp"

using namespace sotto;
using testing::copy_of;
using testing::make_file;
using testing::normed;
using testing::scratch_folder;
using testing::sixty_digits;

namespace {

std::string bytes_in(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::filesystem::path& file, std::string_view text) {
    std::ofstream(file, std::ios::binary) << text;
}

/// A state to be saved.
struct counting {
    std::int64_t count = 0;
    void visit(auto&& field) { field("count", count); }
};

/// What reading a file is refused with.
std::string refusal(const std::filesystem::path& file) {
    try {
        (void)load_model(file);
    } catch (const error& e) {
        return e.what();
    }
    return "nothing";
}

}  // namespace

TEST_CASE("what is saved is what evaluate measures, to the last bit") {
    const auto check = [](const char* name, const auto& strategy) {
        const scratch_folder folder(name);
        const auto file = folder.path() / "to" / "model.safetensors";  // the folder is made
        evaluation measured;
        std::vector<float> parameters, buffers;
        run_in_process(3, [&](auto& transport) {
            auto model = normed();
            trainer trainer{model, strategy, transport, {.batch_size = 5, .seed = 2}};
            trainer.fit(sixty_digits, steps{4});
            const auto own = copy_of(model.buffers());
            CHECK(save_model(trainer, file) == file);
            CHECK(std::ranges::equal(model.buffers(), own));  // its own again
            const evaluation found = trainer.evaluate(sixty_digits);
            trainer.with_evaluated([&](auto& whole, std::span<const float> all, auto& ranks) {
                if (ranks.rank() != 0) return;
                measured = found;
                parameters = copy_of(all);
                buffers = copy_of(whole.buffers());
            });
        });
        auto model = normed();
        const saved_model learnt = load_model(file, model.layout());
        learnt.require_buffers(model.buffer_layout());
        CHECK(learnt.file == file);
        CHECK(learnt.parameters == parameters);
        CHECK(learnt.buffers == buffers);
        REQUIRE(learnt.tensors().size() == model.layout().size());
        ensemble one{model, {{learnt.parameters, learnt.buffers}}};
        CHECK(one.evaluate(sixty_digits).log_loss == doctest::Approx(measured.loss).epsilon(1e-5));
        CHECK_FALSE(std::filesystem::exists(file.string() + ".unfinished"));
    };
    check("saved_alike", all_reduce{sgd{.learning_rate = 0.2}});
    check("saved_apart", gossip{sgd{.learning_rate = 0.2}, topologies::ring{}});
}

TEST_CASE("any reader of safetensors finds the model's own names, and nothing else") {
    const scratch_folder folder("saved_names");
    const auto file = folder.path() / "model.safetensors";
    const saved_model held = make_file(file);
    const std::string content = bytes_in(file);
    std::uint64_t length = 0;
    REQUIRE(content.size() > sizeof length);
    std::memcpy(&length, content.data(), sizeof length);
    const std::string_view values = std::string_view(content).substr(sizeof length + length);
    const auto header = nlohmann::json::parse(content.substr(sizeof length, length));
    CHECK(header["__metadata__"]["format"] == "sotto.model_file");
    CHECK(header["__metadata__"]["format.version"] == "1");
    CHECK(header["__metadata__"]["step"] == "4");
    const auto model = normed();
    std::size_t named = 1;  // __metadata__
    const auto check = [&](const layout& tensors, std::span<const float> expected) {
        for (const tensor& t : tensors) {
            CAPTURE(t.name);
            REQUIRE(header.contains(t.name));
            const auto& entry = header[t.name];
            CHECK(entry["dtype"] == "F32");
            CHECK(entry["shape"] == t.shape);
            const auto part = t.of(expected);
            const std::size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
            REQUIRE(end - begin == part.size_bytes());
            CHECK(std::memcmp(values.data() + begin, part.data(), part.size_bytes()) == 0);
            ++named;
        }
    };
    check(model.layout(), held.parameters);
    check(model.buffer_layout(), held.buffers);
    CHECK(header.size() == named);
}

TEST_CASE("the first rank alone writes") {
    std::vector<std::size_t> files_of_ranks(3);
    run_in_process(3, [&](auto& transport) {
        models::mlp model{784, 10};
        trainer trainer{model, all_reduce{sgd{}}, transport};
        const auto disk = std::make_shared<testing::memory_disk>();
        save_model(trainer, "model.safetensors", testing::memory_files(disk));
        files_of_ranks[static_cast<std::size_t>(transport.rank())] = disk->names.size();
    });
    CHECK(files_of_ranks == std::vector<std::size_t>{1, 0, 0});
}

TEST_CASE("what cannot be written is the same error on all ranks, and what was there stays") {
    const auto disk = std::make_shared<testing::memory_disk>();
    for (const std::int64_t call : {0, 1, 2, 3, 4, 5, 6, 7}) {
        CAPTURE(call);
        std::vector<std::string> said(3);
        bytes before;
        run_in_process(3, [&](auto& transport) {
            models::mlp model{784, 10};
            trainer trainer{model, all_reduce{sgd{}}, transport};
            const testing::memory_files files(disk);
            save_model(trainer, "/model.safetensors", files);
            trainer.fit(sixty_digits, steps{1});
            if (transport.rank() == 0) {
                before = disk->names.at("model.safetensors")->now;
                disk->failure = ENOSPC;
                disk->fails_at = disk->calls + call;
            }
            try {
                save_model(trainer, "/model.safetensors", files);
            } catch (const io_failure& e) {
                said[static_cast<std::size_t>(transport.rank())] = e.what();
            }
        });
        CHECK(said[0].starts_with("save_model: cannot "));
        CHECK(said[0].find("'/model.safetensors") != std::string::npos);
        CHECK(said[0].find("No space left") != std::string::npos);
        CHECK(said[1] == said[0]);
        CHECK(said[2] == said[0]);
        CHECK(disk->names.size() == 1);
        const bool renamed = call == 7;  // it is there, and the folder could not be synced
        CHECK((disk->names.at("model.safetensors")->now == before) == !renamed);
    }
}

TEST_CASE("save_model: a link or a device -> the link's file, or refused on all ranks") {
    const scratch_folder folder("save_model_kinds");
    const auto link = folder.path() / "newest", device = folder.path() / "null";
    std::filesystem::create_symlink("model.safetensors", link);
    testing::make_null_device(device);
    std::vector<std::string> said(2);
    run_in_process(2, [&](auto& transport) {
        models::mlp model{784, 10};
        trainer trainer{model, all_reduce{sgd{}}, transport};
        save_model(trainer, link);
        try {
            save_model(trainer, device);
        } catch (const io_failure& e) {
            said[static_cast<std::size_t>(transport.rank())] = e.what();
        }
    });
    CHECK(std::filesystem::is_symlink(link));
    CHECK(load_model(folder.path() / "model.safetensors", models::mlp{784, 10}.layout())
              .parameters.size() == 7850);
    CHECK(said[0] == "save_model: cannot replace '" + device.string() +
                         "': it is a device; expected a regular file or a new name");
    CHECK(said[1] == said[0]);
    CHECK(std::filesystem::is_character_file(device));
}

TEST_CASE("names that a parameter and a buffer have in common are refused on all ranks") {
    struct namesake : testing::number_model {
        namesake() : number_model(sotto::layout().add("same", {2})) {}
        const sotto::layout& buffer_layout() const noexcept { return number_model::layout(); }
        std::span<float> buffers() noexcept { return kept; }
        void reset_buffers() noexcept {}
        std::vector<float> kept = std::vector<float>(2);
    };
    run_in_process(2, [](auto& transport) {
        namesake model;
        CHECK_THROWS_WITH_AS((trainer{model, all_reduce{}, transport}),
                             "trainer: the model has a parameter and a buffer named 'same'; files "
                             "of models need a name for each: rename one of them",
                             invalid_option);
    });
    const layout same = layout().add("same", {2});
    testing::memory_files files;
    const std::vector<float> values(2);
    CHECK_THROWS_WITH_AS((void)detail::checkpoint::write_model_file(
                             files, "never.safetensors", {same, same}, 0, values, values),
                         "layout: two tensors are named 'same'", invalid_option);
    CHECK(files.disk().names.empty());
    CHECK_FALSE(std::filesystem::exists("never.safetensors"));
}

TEST_CASE("another model's layout is refused, and the first tensor named that differs") {
    const scratch_folder folder("saved_layouts");
    const auto file = folder.path() / "model.safetensors";
    make_file(file, 0);
    const std::string begin = "'" + file.string() + "' is of another model: ";
    const auto refuses = [&](const layout& expected, const std::string& why) {
        CHECK_THROWS_WITH_AS((void)load_model(file, expected), (begin + why).c_str(), mismatch);
    };
    refuses(normed(7).layout(),
            "tensor 'dense1.weight': expected number 1 of shape [7, 784], found number 1 of shape "
            "[6, 784]");
    const layout own = load_model(file).tensors();
    REQUIRE(own.tensors().size() == 6);
    layout more, fewer, turned;
    for (const tensor& t : own) {
        more.add(t.name, t.shape);
        if (t.index < 5) fewer.add(t.name, t.shape);
        turned.add(own[5 - t.index].name, own[5 - t.index].shape);
    }
    more.add("gain", {});
    refuses(more, "tensor 'gain': expected number 7 of shape [], found none");
    refuses(fewer, "tensor 'dense2.bias': expected none, found number 6 of shape [10]");
    refuses(turned,
            "tensor 'dense2.bias': expected number 1 of shape [10], found number 6 of shape [10]");
    saved_model learnt = load_model(file, own);
    CHECK_THROWS_WITH_AS((initialized_from{models::mlp{784, 6, 10}, learnt}),
                         (begin + "tensor 'dense2.weight': expected number 3 of shape [10, 6], "
                                  "found number 5 of shape [10, 6]")
                             .c_str(),
                         mismatch);
    learnt.kind.buffers = {};
    CHECK_THROWS_WITH_AS((initialized_from{normed(), learnt}),
                         (begin + "buffer 'batch_norm1.running_mean': expected number 1 of shape "
                                  "[6], found none")
                             .c_str(),
                         mismatch);
    learnt = load_model(file);
    learnt.parameters.pop_back();
    CHECK_THROWS_AS((initialized_from{normed(), learnt}), mismatch);
}

TEST_CASE("a file that was cut or changed anywhere is refused") {
    const scratch_folder folder("saved_damaged");
    const auto file = folder.path() / "model.safetensors", torn = folder.path() / "torn";
    run_in_process(1, [&](auto& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport};
        save_model(trainer, file);
    });
    const std::string whole = bytes_in(file);
    REQUIRE(whole.size() > 500);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        write(torn, std::string_view(whole).substr(0, length));
        CHECK_THROWS_AS((void)load_model(torn), error);
    }
    write(torn, whole + '\0');
    CHECK(refusal(torn) == "'" + torn.string() + "' is no whole file of a model: expected " +
                               std::to_string(whole.size()) + " bytes, found " +
                               std::to_string(whole.size() + 1));
    const std::size_t unchecked = whole.find("sotto.version"), end = whole.find("\"buffers\"");
    for (std::size_t at = 0; at < whole.size(); ++at) {
        if (at >= unchecked && at < end) continue;  // the version and the step are for people
        if (whole[at] == ' ') continue;             // between the header and the data
        CAPTURE(at);
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        write(torn, changed);
        CHECK_THROWS_AS((void)load_model(torn), error);
    }
}

TEST_CASE("what is no saved model is refused in a sentence that says what it is") {
    const scratch_folder folder("saved_foreign");
    const auto file = folder.path() / "model.safetensors";
    const std::string name = "'" + file.string() + "'";
    CHECK(refusal(file) == "cannot read " + name + ": No such file or directory");
    CHECK(refusal(folder.path()) ==
          "cannot read '" + folder.path().string() + "': it is a folder; expected a regular file");
    write(file, "");
    CHECK(refusal(file) == name + " is no whole file of a model: expected 8 more bytes, found 0");
    write(file, "loss on unseen data 0.00067");
    CHECK(refusal(file).starts_with(name + " is no safetensors file: at byte 0 expected a "
                                           "header of at most 2^24 bytes, found "));
    const auto with_header = [&](std::string json) {
        const std::uint64_t length = json.size();
        write(file, std::string(reinterpret_cast<const char*>(&length), sizeof length) + json);
    };
    with_header("{}");
    const std::string none =
        name + " is no file of a model: none of its tensors is of F32, F16, BF16 or F64";
    CHECK(refusal(file) == none);
    with_header(R"({"__metadata__":{"format":"pt"}})");
    CHECK(refusal(file) == none);
    with_header(R"({"__metadata__":{"format":"pt","format.version":"1"}})");  // a bit has changed
    CHECK(refusal(file) ==
          name + " is no file of a model: its format is pt; expected sotto.model_file");
    with_header(R"({"__metadata__":{"format":"sotto.model_file","format.version":"2"}})");
    CHECK(refusal(file) == name + " is no file of a model: its format.version is 2; expected 1");
    with_header(R"({"__metadata__":{"format":"sotto.model_file","format.version":"1",)"
                R"("buffers":"1"}})");
    CHECK(refusal(file) == name + " is no whole file of a model: of 0 tensors are buffers: 1");

    // 2^22 x 2^19 floats in no bytes at all: there is an extent of 0 behind them.
    with_header(R"({"__metadata__":{"format":"sotto.model_file","format.version":"1",)"
                R"("buffers":"0"},"w":{"dtype":"F32","shape":[4194304,524288,0],)"
                R"("data_offsets":[0,0]}})");
    CHECK(refusal(file) == name +
                               " is no whole file of a model: layout: tensor 'w' has extent "
                               "524288; extents are at least 0 and a layout holds at most 2^40 "
                               "floats");

    counting state;
    detail::checkpoint::own_state kept(folder.path(), "a server", "its options");
    REQUIRE(kept.save(state, 3));
    const auto own = folder.path() / detail::checkpoint::file_name(3);
    CHECK(refusal(own) == "'" + own.string() +
                              "' is no file of a model: its format is sotto.state; expected "
                              "sotto.model_file");
}

TEST_CASE("checkpoints are read where ranks have the same parameters, and published models") {
    const scratch_folder folder("saved_from_checkpoints");
    const auto run = folder.path() / "run", saved = folder.path() / "model.safetensors";
    const auto train = [&](const auto& strategy) {
        std::filesystem::path published;
        run_in_process(4, [&](auto& transport) {
            auto model = normed();
            trainer trainer{model, strategy, transport, {.batch_size = 5}};
            trainer.fit(sixty_digits, steps{3}, checkpoints{run});
            save_model(trainer, saved);
            const auto there = publish(trainer, folder.path(), 0);
            if (transport.rank() == 0) published = there;
        });
        return published;
    };
    const auto published = train(all_reduce{sgd{.learning_rate = 0.2}});
    const saved_model expected = load_model(saved);
    const auto model = normed();
    for (const auto& file : {run / detail::checkpoint::file_name(3), published}) {
        const saved_model learnt = load_model(file, model.layout());
        learnt.require_buffers(model.buffer_layout());
        CHECK(learnt.parameters == expected.parameters);
        REQUIRE(learnt.buffers.size() == expected.buffers.size());
        for (std::size_t i = 0; i < learnt.buffers.size(); ++i)
            CHECK(learnt.buffers[i] == doctest::Approx(expected.buffers[i]).epsilon(1e-6));
    }
    std::filesystem::remove_all(run);
    train(gossip{sgd{.learning_rate = 0.2}, topologies::ring{}});
    const auto file = run / detail::checkpoint::file_name(3);
    CHECK(refusal(file) == "'" + file.string() +
                               "' is a checkpoint of ranks that each had parameters of their own: "
                               "resume from it and save the model");
    std::string content = bytes_in(file);
    write(file, content.substr(0, content.size() - 1));
    CHECK(refusal(file).starts_with("'" + file.string() + "' is damaged: "));
}

TEST_CASE("where ranks are not in step the first that trains writes its own") {
    const scratch_folder folder("saved_served");
    const auto file = folder.path() / "model.safetensors";
    std::vector<float> parameters, buffers;
    run_in_process(3, [&](auto& transport) {
        auto model = normed();
        trainer trainer{model,
                        parameter_server{sgd{.learning_rate = 0.1},
                                         asynchronous{},
                                         no_compensation{},
                                         none{},
                                         {.dedicated = true}},
                        transport};
        trainer.fit(sixty_digits, steps{2});
        CHECK(save_model(trainer, file) == file);
        if (transport.rank() != 1) return;
        parameters = copy_of(trainer.parameters());
        buffers = copy_of(model.buffers());
    });
    const saved_model learnt = load_model(file);
    CHECK(learnt.parameters == parameters);
    CHECK(learnt.buffers == buffers);
}

TEST_CASE("of several models that are trained at once each has a file") {
    const scratch_folder folder("saved_groups");
    run_in_process(2, [&](auto& transport) {
        models::mlp model{784, 10};
        trainer trainer{model,
                        codistillation{all_reduce{sgd{.learning_rate = 0.1}}, soft_cross_entropy{},
                                       transport_exchange<>{}, codistillation_groups{}},
                        transport};
        trainer.fit(sixty_digits, steps{2});
        const std::filesystem::path file = save_model(trainer, folder.path() / "model.safetensors");
        CHECK(file.filename() ==
              (transport.rank() == 0 ? "model.group-0.safetensors" : "model.group-1.safetensors"));
        CHECK(std::ranges::equal(load_model(file).parameters, trainer.parameters()));
    });
}
