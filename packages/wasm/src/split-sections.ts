import { type Cursor, cursorOn, readByte, readU32, skipBytes } from './cursor.ts';
import type { ModuleLimits } from './limits.ts';
import { SECTION, type Section } from './module-shape.ts';
import { malformed, tooLarge, unsupported } from './wasm-error.ts';

/** "\0asm" and version 1. */
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const COMPONENT_LAYER = 6;
const STRINGS = 14;

/** The sections of a module by id, custom ones left out. Whether they stand in order is V8's to say. */
export function splitSections(bytes: Uint8Array, limits: ModuleLimits): ReadonlyMap<number, Section> {
  if (bytes.length > limits.moduleBytes) throw tooLarge('Bytes of the module', bytes.length, limits.moduleBytes);
  const cursor = cursorOn(bytes);
  readHeader(cursor);
  const sections = new Map<number, Section>();
  for (let count = 1; cursor.at < bytes.length; count += 1) {
    if (count > limits.sections) throw tooLarge('Sections', count, limits.sections);
    const id = readByte(cursor);
    const length = readU32(cursor);
    const start = cursor.at;
    skipBytes(cursor, length);
    if (id === SECTION.custom) continue;
    if (id === STRINGS) throw unsupported('reference-typed strings');
    if (id > SECTION.tag) throw malformed(`There is no section ${id}.`);
    if (sections.has(id)) throw malformed(`Section ${id} is there twice.`);
    sections.set(id, { id, start, end: cursor.at });
  }
  return sections;
}

function readHeader(cursor: Cursor): void {
  const { bytes } = cursor;
  if (bytes.length >= HEADER.length && bytes[COMPONENT_LAYER] === 1 && bytes[0] === 0 && bytes[1] === 0x61) {
    throw unsupported('the component model (give the core module)');
  }
  if (HEADER.some((byte, index) => bytes[index] !== byte)) throw malformed('This does not begin as a module does.');
  cursor.at = HEADER.length;
}
