// Counts the words of its input. Build: see README.md.

@external('palyra', 'log')
declare function log(handle: i64, level: i32, pointer: usize, length: i32): i32;

export function palyra_alloc(size: i32): usize {
  return heap.alloc(size);
}

export function palyra_call(handle: i64, pointer: usize, length: i32): i64 {
  let words = 0;
  let isInside = false;
  for (let at = 0; at < length; at += 1) {
    const byte = load<u8>(pointer + at);
    const isLetter = (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || byte >= 0x80;
    if (isLetter && !isInside) words += 1;
    isInside = isLetter;
  }
  const said = String.UTF8.encode('counted');
  log(handle, 1, changetype<usize>(said), said.byteLength);
  const output = String.UTF8.encode('{"bytes":' + length.toString() + ',"words":' + words.toString() + '}');
  return (<i64>changetype<usize>(output) << 32) | output.byteLength;
}
