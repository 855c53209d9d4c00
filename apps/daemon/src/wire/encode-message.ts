import {
  type DescField,
  type DescMessage,
  type DescOneof,
  type MessageInitShape,
  ScalarType,
} from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';

/**
 * The bytes of a message, from its fields as they are. The library makes a message of them first, and a writer with a buffer of
 * its own for each; of events there are several in every call. Throws when a field is of a kind that no message of ours has.
 */
export function encodeMessage<Desc extends DescMessage>(
  desc: Desc,
  init: MessageInitShape<Desc>,
): Uint8Array<ArrayBuffer> {
  try {
    encoderOf(desc)(init);
    return writer.finish();
  } catch (error) {
    // What was written so far would be in the next one.
    writer = new BinaryWriter();
    throw error;
  }
}

type Fields = Readonly<Record<string, unknown>>;
type Encode = (fields: Fields) => void;

/** One for all: nothing waits between the first byte of a message and its last. */
let writer = new BinaryWriter();

const ENCODERS = new WeakMap<DescMessage, Encode>();

function encoderOf(desc: DescMessage): Encode {
  const known = ENCODERS.get(desc);
  if (known !== undefined) return known;
  const members = desc.members.map((member) => (member.kind === 'oneof' ? oneofEncoder(member) : fieldEncoder(member)));
  const encode: Encode = (fields) => {
    for (const member of members) member(fields);
  };
  ENCODERS.set(desc, encode);
  return encode;
}

interface Chosen {
  readonly case?: string;
  readonly value?: unknown;
}

function oneofEncoder({ localName, fields }: DescOneof): Encode {
  const choices = new Map(fields.map((field) => [field.localName, valueEncoder(field)]));
  return (all) => {
    const chosen = all[localName] as Chosen | undefined;
    if (chosen?.case !== undefined) choices.get(chosen.case)?.(chosen.value);
  };
}

function fieldEncoder(field: DescField): Encode {
  const { localName } = field;
  const encode = valueEncoder(field);
  if (field.fieldKind === 'list') {
    return (fields) => {
      for (const each of (fields[localName] ?? []) as Iterable<unknown>) encode(each);
    };
  }
  // What has a presence of its own is written when it is there; of the rest, what it would be anyway is left out.
  const isLeftOut =
    field.presence === FeatureSet_FieldPresence.IMPLICIT ? isDefault : (value: unknown) => value === undefined;
  return (fields) => {
    const value = fields[localName];
    if (!isLeftOut(value)) encode(value);
  };
}

function isDefault(value: unknown): boolean {
  if (value === undefined || value === '' || value === 0 || value === 0n || value === false) return true;
  return value instanceof Uint8Array && value.length === 0;
}

type EncodeValue = (value: unknown) => void;

/** Of a list, of each of its entries. */
function valueEncoder(field: DescField): EncodeValue {
  const { number } = field;
  const kind = field.fieldKind === 'list' ? field.listKind : field.fieldKind;
  if (kind === 'message' && field.message !== undefined) {
    const { message } = field;
    return (value) => {
      writer.tag(number, WireType.LengthDelimited).fork();
      // Looked up late: a message may hold one of its own kind.
      encoderOf(message)(value as Fields);
      writer.join();
    };
  }
  const isPacked = field.fieldKind === 'list' && field.packed;
  if (kind === 'enum' && !isPacked) return (value) => void writer.tag(number, WireType.Varint).int32(value as number);
  if (kind === 'scalar' && field.scalar !== undefined && !isPacked) return scalarEncoder(number, field.scalar);
  throw new TypeError(`No message of ours has such a field: ${field.toString()}.`);
}

function scalarEncoder(number: number, scalar: ScalarType): EncodeValue {
  switch (scalar) {
    case ScalarType.STRING:
      return (value) => void writer.tag(number, WireType.LengthDelimited).string(value as string);
    case ScalarType.BYTES:
      return (value) => void writer.tag(number, WireType.LengthDelimited).bytes(value as Uint8Array<ArrayBuffer>);
    case ScalarType.BOOL:
      return (value) => void writer.tag(number, WireType.Varint).bool(value as boolean);
    case ScalarType.INT32:
      return (value) => void writer.tag(number, WireType.Varint).int32(value as number);
    case ScalarType.UINT32:
      return (value) => void writer.tag(number, WireType.Varint).uint32(value as number);
    case ScalarType.INT64:
      return (value) => void writer.tag(number, WireType.Varint).int64(value as bigint);
    case ScalarType.UINT64:
      return (value) => void writer.tag(number, WireType.Varint).uint64(value as bigint);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED32:
    case ScalarType.SFIXED64:
    case ScalarType.SINT32:
    case ScalarType.SINT64:
      throw new TypeError(`No message of ours has a field of the type ${ScalarType[scalar]}.`);
  }
}
