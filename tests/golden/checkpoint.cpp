#include <doctest/doctest.h>

#include <cstddef>
#include <cstdio>
#include <string>

#include "support/memory_disk.hpp"
#include "support/small_checkpoint.hpp"

using namespace sotto;

// Checkpoints written years ago depend on these: a change here is a change of the format, and of
// its version.

TEST_CASE("golden: checkpoints keep their bytes") {
    testing::memory_files files;
    REQUIRE(testing::small_checkpoint(20).write(files) == "");
    const bytes& file = files.disk().names.at("checkpoint-000000000020.safetensors")->now;
    const std::string json =
        R"({"__metadata__":{"step":"20",)"
        R"("digest.parameters":"78095759776e1d20d365ea2e71e05925",)"
        R"("digest.state":"a5f05e670496a066134b43e28906542b",)"
        R"("digest.buffers/rank0":"8792560ceef07aaed0c11447f5c6aab9",)"
        R"("digest.state/rank0":"c1b8e319ff9de2f4d85366526ec4e7e9"},)"
        R"("parameters/layer.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
        R"("parameters/layer.bias":{"dtype":"F32","shape":[2],"data_offsets":[24,32]},)"
        R"("parameters/nothing":{"dtype":"F32","shape":[0,3],"data_offsets":[32,32]},)"
        R"("state/steps":{"dtype":"I64","shape":[],"data_offsets":[32,40]},)"
        R"("state/momentum":{"dtype":"F32","shape":[3],"data_offsets":[40,52]},)"
        R"("buffers/rank0/mean":{"dtype":"F32","shape":[2],"data_offsets":[52,60]},)"
        R"("state/rank0/residual":{"dtype":"F32","shape":[3],"data_offsets":[60,72]},)"
        R"("digest":{"dtype":"U8","shape":[32],"data_offsets":[72,104]}} )";
    REQUIRE(file.size() == 8 + json.size() + 104);
    std::string text, data;
    for (std::size_t i = 0; i < file.size(); ++i) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(file[i]));
        if (i < 8 || i >= 8 + json.size())
            data += digits;
        else
            text += static_cast<char>(file[i]);
    }
    CHECK(text == json);
    CHECK(data ==
          "3003000000000000"
          "0000a0410000a2410000a4410000a6410000a8410000aa410000ac410000ae41"
          "1400000000000000"
          "0000b0410000b2410000b441"
          "0000b6410000b841"
          "0000ba410000bc410000be41"
          "af6eba5b87feeea1deffd8af2ccefb22"    // of all bytes before
          "75254501ed3f76fcfd59a978ba590101");  // of the header
}
