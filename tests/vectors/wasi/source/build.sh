#!/bin/sh
# Builds every module here from suite.c with Debian's clang and lld (clang-14, lld-14): sh build.sh
set -e
cd "$(dirname "$0")"
for name in $(sed -n 's/.*TEST(\([a-z_]*\)) {.*/\1/p' suite.c); do
  ${CLANG:-clang-14} --target=wasm32 -nostdlib -ffreestanding -Oz -D"RUN_$name" -fno-builtin \
    ${LINKER:+-fuse-ld=$LINKER} -Wl,--export=_start,--strip-all,-z,stack-size=16384 -o "../$name.wasm" suite.c
done
