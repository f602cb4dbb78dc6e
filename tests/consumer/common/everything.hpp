#pragma once
// All of sotto as one include, for one consumer; what finds sotto in another way is content with less.

#ifndef CONSUMER_OF_CORE
#include <sotto/sotto.hpp>
#else
#include <sotto/core/bytes.hpp>
#include <sotto/core/clock.hpp>
#include <sotto/core/errors.hpp>
#include <sotto/core/layout.hpp>
#include <sotto/core/random.hpp>
#include <sotto/core/result.hpp>
#include <sotto/version.hpp>
#endif

// Macros have no namespace: two that would break any other header stand for all.
#if defined(min) || defined(max)
#error "sotto defines min or max"
#endif
