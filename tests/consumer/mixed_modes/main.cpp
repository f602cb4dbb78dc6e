#include <sotto/core/layout.hpp>

int other();

int main() {
    return other();
}
