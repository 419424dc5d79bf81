// SPDX-License-Identifier: Apache-2.0
// Owns the precompiled header that the tests of code that computes with tensors share.
