"""Chapter 07: multi-head attention."""

SPLITTING = "07_multi_head_attention#splitting-and-merging"
FORMULA = "07_multi_head_attention#the-formula-and-its-sizes"
