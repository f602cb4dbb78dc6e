// publish_one FOLDER GROUP STEP LOSS WIDTH [VALUE]: a model of so many zeros, the last of them the
// value if there is one, for test.sh.

#include <sotto/checkpoint/detail/file_system.hpp>
#include <sotto/checkpoint/detail/group_folders.hpp>
#include <sotto/checkpoint/detail/published_model.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/posix_files.hpp"

int main(int argc, char** argv) {
    if (argc < 6 || argc > 7) return 2;
    const int group = std::atoi(argv[2]);
    const long width = std::atol(argv[5]);
    sotto::detail::checkpoint::architecture kind;
    kind.parameters.add("weight", {width});
    sotto::detail::checkpoint::posix_files files;
    std::vector<float> values(static_cast<std::size_t>(width));
    if (argc == 7) values.back() = std::strtof(argv[6], nullptr);
    const std::string problem = sotto::detail::checkpoint::publish_model(
        files, sotto::detail::checkpoint::models_folder(argv[1], group), kind,
        {.step = std::atol(argv[3]),
         .label_loss = std::atof(argv[4]),
         .group = std::to_string(group),
         .architecture = kind.identity()},
        values, {});
    std::fputs(problem.c_str(), stderr);
    return problem.empty() ? 0 : 1;
}
