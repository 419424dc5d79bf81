// SPDX-License-Identifier: Apache-2.0
#pragma once

// For headers that only pass these on: CLI11 itself costs each file that reads it seconds.
namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI
