// expect-error: from 'int' to 'sotto::random_stream'
// A number is not silently a stream: two calls given "7" would draw the same numbers unnoticed.
#include "sotto/core/random.hpp"

float first(sotto::random_stream stream) {
    return stream.uniform();
}

float value = first(7);
