#include "sotto/checkpoint/saved_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/quantise/half.hpp"
#include "sotto/trainer/initialized_from.hpp"
#include "support/folders.hpp"
#include "support/saved_models.hpp"

using namespace sotto;
using testing::scratch_folder;

namespace {

/// A safetensors file of another program, tensor by tensor in the order of its data.
class other_program {
public:
    explicit other_program(std::string metadata = "") : json_(std::move(metadata)) {}

    template <class Value>
    other_program& add(const std::string& name, const std::string& type, const std::string& shape,
                       const std::vector<Value>& values) {
        const std::size_t begin = data_.size();
        data_.resize(begin + values.size() * sizeof(Value));
        if (!values.empty())
            std::memcpy(data_.data() + begin, values.data(), values.size() * sizeof(Value));
        if (!json_.empty()) json_ += ",";
        json_ += "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + shape +
                 "],\"data_offsets\":[" + std::to_string(begin) + "," +
                 std::to_string(data_.size()) + "]}";
        return *this;
    }

    std::string bytes() const {
        const std::string header = "{" + json_ + "}";
        const std::uint64_t length = header.size();
        return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data_;
    }

private:
    std::string json_, data_;
};

std::filesystem::path write(const scratch_folder& folder, const std::string& bytes) {
    const auto file = folder.path() / "published.safetensors";
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
}

std::string refusal(auto&& load) {
    try {
        load();
    } catch (const error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("load_model: another program's file -> its tensors by name, as floats, in any order") {
    const scratch_folder folder("published");
    const std::vector<std::uint16_t> halves{detail::kernels::to_fp16(0.5f),
                                            detail::kernels::to_fp16(-3.0f), 0x0001, 0x7C00},
        brains{detail::kernels::to_bf16(2.5f), 0x8000};
    for (const char* metadata : {"", R"("__metadata__":{"format":"pt","step":"7"})"}) {
        CAPTURE(metadata);
        const auto file = write(folder, other_program(metadata)
                                            .add<double>("d", "F64", "3", {0.1, -1e-50, HUGE_VAL})
                                            .add<std::int64_t>("count", "I64", "", {41})
                                            .add<float>("w", "F32", "2,3", {1, 2, 3, 4, 5, 6})
                                            .add<std::uint16_t>("h", "F16", "2,2", halves)
                                            .add<float>("none", "F32", "0,4", {})
                                            .add<std::uint16_t>("b", "BF16", "2,1", brains)
                                            .bytes());
        const layout model = layout()
                                 .add("b", {2, 1})
                                 .add("w", {2, 3})
                                 .add("h", {2, 2})
                                 .add("none", {0, 4})
                                 .add("d", {3});
        const saved_model learnt = load_model(file, model);
        CHECK(learnt.file == file);
        CHECK(learnt.buffers.empty());
        REQUIRE(learnt.tensors().tensors().size() == 5);
        for (std::int64_t i = 0; i < 5; ++i) CHECK(learnt.tensors()[i].name == model[i].name);
        const std::vector<float> expected{2.5f,     -0.0f,     1,    2,     3,
                                          4,        5,         6,    0.5f,  -3.0f,
                                          0x1p-24f, HUGE_VALF, 0.1f, -0.0f, HUGE_VALF};
        REQUIRE(learnt.parameters.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            CHECK(std::bit_cast<std::uint32_t>(learnt.parameters[i]) ==
                  std::bit_cast<std::uint32_t>(expected[i]));
        // From then on it is as if sotto had written it.
        CHECK_NOTHROW(learnt.require(model));
        CHECK_NOTHROW(learnt.require_buffers({}));
        CHECK_FALSE(learnt.by_name);
    }
}

TEST_CASE("load_model: values of many pieces of the file -> all of them, in each type") {
    const scratch_folder folder("published_large");
    constexpr std::size_t size = 700'001;  // more than 1 MiB of each type
    std::vector<float> values(size);
    std::vector<double> doubles(size);
    std::vector<std::uint16_t> halves(size);
    for (std::size_t i = 0; i < size; ++i) {
        values[i] = static_cast<float>(i % 2048);
        doubles[i] = static_cast<double>(values[i]);
        halves[i] = detail::kernels::to_fp16(values[i]);
    }
    const std::string shape = std::to_string(size);
    const saved_model learnt = load_model(write(folder, other_program()
                                                            .add("a", "F64", shape, doubles)
                                                            .add("b", "F16", shape, halves)
                                                            .add("c", "F32", shape, values)
                                                            .bytes()));
    REQUIRE(learnt.parameters.size() == 3 * size);
    for (const tensor& t : learnt.tensors())
        CHECK(std::ranges::equal(t.of(std::span<const float>(learnt.parameters)), values));
}

TEST_CASE("load_model: another program's file does not fit -> the tensor, expected and found") {
    const scratch_folder folder("published_misfits");
    const auto file = write(folder, other_program()
                                        .add<float>("w", "F32", "2,3", {1, 2, 3, 4, 5, 6})
                                        .add<float>("more", "F32", "1", {1})
                                        .add<std::int32_t>("whole", "I32", "2", {1, 2})
                                        .bytes());
    const std::string begin = "'" + file.string() + "' is of another model: tensor '";
    const auto why = [&](const layout& model) {
        return refusal([&] { (void)load_model(file, model); });
    };
    CHECK(why(layout().add("w", {2, 3})).empty());
    CHECK(why(layout().add("w", {2, 3}).add("v", {4})) ==
          begin + "v': expected shape [4], found no tensor of that name");
    CHECK(why(layout().add("w", {3, 2})) ==
          begin + "w': expected shape [3, 2], found shape [2, 3]");
    CHECK(why(layout().add("w", {6})) == begin + "w': expected shape [6], found shape [2, 3]");
    CHECK(why(layout().add("whole", {2})) ==
          begin +
              "whole': expected shape [2], found values of I32, which are none of F32, F16, "
              "BF16 and F64");
    // Without a layout nothing is left out unseen.
    const saved_model all = load_model(file);
    CHECK(all.by_name);
    CHECK(refusal([&] {
              (void)all.fitted_to(layout().add("w", {2, 3}));
          }) == begin +
                    "more' of shape [1] is in the file and not in the model; load_model with the "
                    "model's layout leaves out such tensors");
    const saved_model fitted = all.fitted_to(layout().add("more", {1}), layout().add("w", {2, 3}));
    CHECK(fitted.parameters == std::vector<float>{1});
    CHECK(fitted.buffers == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(refusal([&] { (void)all.selected(layout(), layout().add("running", {1})); }) ==
          "'" + file.string() +
              "' is of another model: buffer 'running': expected shape [1], "
              "found no tensor of that name");
}

TEST_CASE(
    "load_model: another program's file that is cut, too long or beyond floats -> malformed") {
    const scratch_folder folder("published_damage");
    const std::string whole = other_program()
                                  .add<float>("w", "F32", "2", {1, 2})
                                  .add<double>("d", "F64", "1", {1})
                                  .bytes();
    const auto load = [&](const std::string& bytes) {
        const auto file = write(folder, bytes);
        return refusal([&] { (void)load_model(file); });
    };
    CHECK(load(whole).empty());
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK_FALSE(load(whole.substr(0, size)).empty());
    CHECK(load(whole + "x").find("expected " + std::to_string(whole.size()) + " bytes, found ") !=
          std::string::npos);
    const double largest = std::numeric_limits<float>::max();
    for (const double value : {1e39, -1e300, largest * (1 + 1e-7)}) {
        const std::string why =
            load(other_program().add<double>("d", "F64", "3", {largest, -largest, value}).bytes());
        CHECK(why.find("tensor 'd' of F64, element 2, is beyond the largest float, 3.4e38") !=
              why.npos);
    }
    CHECK(load(other_program().add<std::int64_t>("n", "I64", "1", {1}).bytes())
              .find("is no file of a model: none of its tensors is of F32, F16, BF16 or F64") !=
          std::string::npos);
}

TEST_CASE(
    "initialized_from: another program's file of a model with buffers -> both, by their names") {
    const scratch_folder folder("published_with_buffers");
    const auto own = folder.path() / "own.safetensors";
    const saved_model held = testing::make_file(own);
    const saved_model saved = load_model(own);
    other_program other;
    const auto put = [&](const layout& tensors, const std::vector<float>& values, auto keep) {
        for (auto t = tensors.tensors().rbegin(); t != tensors.tensors().rend(); ++t) {
            std::string shape;
            for (const std::int64_t extent : t->shape)
                shape += (shape.empty() ? "" : ",") + std::to_string(extent);
            const auto part = t->of(std::span<const float>(values));
            if (keep(t->name))
                other.add(t->name, "F32", shape, std::vector<float>(part.begin(), part.end()));
        }
    };
    const auto all = [](const std::string&) { return true; };
    put(saved.kind.buffers, saved.buffers, all);
    other.add<std::int64_t>("num_batches_tracked", "I64", "", {4});
    put(saved.tensors(), saved.parameters, all);
    auto model = testing::normed();
    const initialized_from begun{testing::normed(), load_model(write(folder, other.bytes()))};
    std::vector<float> parameters(saved.parameters.size());
    begun.initialise(parameters, random_stream{1});
    CHECK(parameters == held.parameters);
    initialized_from copy = begun;
    CHECK(testing::copy_of(copy.buffers()) == held.buffers);
    // Ranks that read the one or the other begin with the same.
    const initialized_from same{testing::normed(), saved};
    std::vector<std::string> identities;
    for (const auto* one : {&begun, &same})
        one->describe([&](const char* name, const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
                if (std::string(name) == "begins_with") identities.push_back(value);
        });
    REQUIRE(identities.size() == 2);
    CHECK(identities[0] == identities[1]);
}

TEST_CASE("saved_model: a value that is not finite -> no model begins with it") {
    const scratch_folder folder("saved_model_finite");
    const auto path = folder.path() / "f";
    for (const auto& [value, shown] :
         {std::pair(std::numeric_limits<float>::quiet_NaN(), "nan"),
          std::pair(-std::numeric_limits<float>::infinity(), "-inf")}) {
        std::ofstream(path, std::ios::binary)
            << other_program().add<float>("w", "F32", "3", {1.0f, 2.0f, value}).bytes();
        const saved_model learnt = load_model(path);
        CHECK_THROWS_WITH_AS((void)learnt.fitted_to(layout().add("w", {3})),
                             ("'" + path.string() + "': tensor 'w', element 2, is " + shown +
                              "; training begins with finite values")
                                 .c_str(),
                             error);
    }
}
