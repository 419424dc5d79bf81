// Owns the precompiled header that every target using tensors shares.
