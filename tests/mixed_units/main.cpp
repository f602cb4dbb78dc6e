// mixed_units plain | v4 | both
// Calls the units' functions; `both` asks for the same answers. Compiled for every x86-64 processor
// and without sotto's headers, so that it adds no function of theirs.

#include <cstdio>
#include <cstring>

#include "answers.hpp"

namespace {

float gradient[questions::n], weights[questions::n];

// Numbers around 0 of many sizes, with ties, a denormal and a huge one.
void make_questions() {
    std::uint64_t state = 1;
    const auto next = [&] {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<float>(static_cast<double>(state >> 11) * 0x1p-53 - 0.5);
    };
    for (std::size_t i = 0; i < questions::n; ++i) {
        const float value = next();
        gradient[i] = i % 5 == 0 ? 0.25f : value * value * value;
        weights[i] = next();
    }
    gradient[7] = 1e-40f;
    gradient[questions::n - 1] = -3e38f;
}

bool has_v4() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

bool is_sensible(const char* unit, const answers& given) {
    if (!given.decoded_what_was_selected) std::printf("%s: decoded something else\n", unit);
    return given.decoded_what_was_selected;
}

bool agree(const answers& plain, const answers& v4) {
    bool same = true;
    for (std::size_t i = 0; i < answers::count; ++i) {
        if (plain.digests[i] == v4.digests[i]) continue;
        std::printf("%s: the units give different answers\n", answers::names[i]);
        same = false;
    }
    return same;
}

}  // namespace

int main(int count, char** arguments) {
    const char* units = count == 2 ? arguments[1] : "";
    make_questions();
    const questions asked{gradient, weights};
    if (std::strcmp(units, "plain") == 0)
        return is_sensible("plain", answers_of_plain_unit(asked)) ? 0 : 1;
    // Whether this processor has what it takes or not.
    if (std::strcmp(units, "v4") == 0) return is_sensible("v4", answers_of_v4_unit(asked)) ? 0 : 1;
    if (std::strcmp(units, "both") != 0) {
        std::fprintf(stderr, "usage: mixed_units plain|v4|both\n");
        return 2;
    }
    if (!has_v4()) {
        std::printf("skipped: this processor has no x86-64-v4\n");
        return 77;
    }
    const answers plain = answers_of_plain_unit(asked), v4 = answers_of_v4_unit(asked);
    return is_sensible("plain", plain) && is_sensible("v4", v4) && agree(plain, v4) ? 0 : 1;
}
