#pragma once

#include <cstddef>
#include <initializer_list>

#include "sotto/core/bytes.hpp"

namespace cifar10_test {

/// A file of CIFAR-10's binary version with these labels; value i of an image with label l is
/// 7 l + i, modulo 256.
inline sotto::bytes cifar10_file(std::initializer_list<int> labels) {
    sotto::bytes file;
    for (const int label : labels) {
        file.push_back(static_cast<std::byte>(label));
        for (int i = 0; i < 3072; ++i) file.push_back(static_cast<std::byte>(7 * label + i));
    }
    return file;
}

}  // namespace cifar10_test
