#pragma once
// All of sotto as one include for one consumer; the others show how sotto is found, with its core.

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
