/** `struct seccomp_data`, without the instruction pointer. */
export interface SystemCall {
  readonly auditArch: number;
  readonly number: number;
  /** Six, of 64 bits each. */
  readonly args: readonly bigint[];
}

/**
 * What the kernel makes of a seccomp program: runs it on one call and gives back what it returns. Only the instructions that
 * programs of ours use. Throws for what the kernel would refuse to load: other instructions, a jump out of the program.
 */
export function interpretBpf(program: Uint8Array, call: SystemCall): number {
  const data = seccompData(call);
  const code = new DataView(program.buffer, program.byteOffset, program.byteLength);
  let accumulator = 0;
  for (let at = 0; ; ) {
    if (at + 8 > program.length) throw new RangeError(`The program leaves itself at byte ${at}.`);
    const opcode = code.getUint16(at, true);
    const value = code.getUint32(at + 4, true);
    const branch = (taken: boolean) => at + 8 * (1 + code.getUint8(at + (taken ? 2 : 3)));
    switch (opcode) {
      case 0x20:
        accumulator = data.getUint32(value, true);
        at += 8;
        break;
      case 0x54:
        accumulator = (accumulator & value) >>> 0;
        at += 8;
        break;
      case 0x15:
        at = branch(accumulator === value);
        break;
      case 0x25:
        at = branch(accumulator > value);
        break;
      case 0x35:
        at = branch(accumulator >= value);
        break;
      case 0x45:
        at = branch((accumulator & value) !== 0);
        break;
      case 0x06:
        return value;
      default:
        throw new RangeError(`There is no instruction 0x${opcode.toString(16)} at byte ${at}.`);
    }
  }
}

function seccompData({ number, auditArch, args }: SystemCall): DataView {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, auditArch, true);
  for (const [index, argument] of args.entries()) data.setBigUint64(16 + 8 * index, argument, true);
  return data;
}
