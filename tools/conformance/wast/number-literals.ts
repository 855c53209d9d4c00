/** Bits of the number that a script writes, in as many bits as its type has. */
export function integerBits(text: string, bits: number): bigint {
  const plain = text.replaceAll('_', '');
  const isNegative = plain.startsWith('-');
  const digits = plain.replace(/^[+-]/, '');
  return BigInt.asUintN(bits, isNegative ? -BigInt(digits) : BigInt(digits));
}

const view = new DataView(new ArrayBuffer(8));

export function floatBits(text: string, bits: 32 | 64): bigint {
  const plain = text.replaceAll('_', '').toLowerCase();
  const isNegative = plain.startsWith('-');
  const unsigned = plain.replace(/^[+-]/, '');
  const sign = isNegative ? 1n << BigInt(bits - 1) : 0n;
  const fraction = bits === 32 ? 23n : 52n;
  const infinity = (bits === 32 ? 0xffn : 0x7ffn) << fraction;
  if (unsigned === 'inf') return sign | infinity;
  if (unsigned === 'nan') return sign | infinity | (1n << (fraction - 1n));
  if (unsigned.startsWith('nan:0x')) return sign | infinity | BigInt(unsigned.slice(4));
  return sign | bitsOf(unsigned.startsWith('0x') ? hexadecimal(unsigned) : Number(unsigned), bits);
}

function bitsOf(value: number, bits: 32 | 64): bigint {
  if (bits === 32) {
    view.setFloat32(0, value);
    return BigInt(view.getUint32(0));
  }
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

/** `0x1.8p3`: exact when it has 53 bits at most, else rounded once. */
function hexadecimal(text: string): number {
  const [mantissa = '', exponent = '0'] = text.slice(2).split('p');
  const [whole = '', part = ''] = mantissa.split('.');
  const digits = BigInt(`0x${whole}${part}` === '0x' ? 0 : `0x${whole}${part}`);
  const scale = Number(exponent) - 4 * part.length;
  // In two steps, for a scale below the smallest power that a double holds.
  const half = Math.trunc(scale / 2);
  return Number(digits) * 2 ** half * 2 ** (scale - half);
}
