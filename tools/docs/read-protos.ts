import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createFileRegistry,
  type DescEnum,
  type DescEnumValue,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

/** What palyra.v1 declares, in the order of its files, with the comments that stand there. */
export interface CommentedApi {
  readonly services: readonly DescService[];
  readonly messages: readonly DescMessage[];
  readonly enums: readonly DescEnum[];
  commentOf(declared: Declared): string;
}

type Declared = DescService | DescMethod | DescMessage | DescField | DescEnum | DescEnumValue;

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGE = 'palyra.v1';
/** Where people begin, and then as they need it. */
const ORDER = [
  'run',
  'approval',
  'grant',
  'tool',
  'workspace',
  'policy',
  'journal',
  'device',
  'status',
  'skill',
  'vault',
];

/** Field numbers of descriptor.proto: the path of a comment is made of them. */
const AT = { message: 4, enum: 5, service: 6, field: 2, method: 2, value: 2 } as const;

export function readProtos(): CommentedApi {
  const set = fromBinary(FileDescriptorSetSchema, buildDescriptors());
  const files = [...createFileRegistry(set).files].filter(({ proto }) => proto.package === PACKAGE);
  const ordered = files.toSorted((one, other) => rankOf(one) - rankOf(other) || (one.name < other.name ? -1 : 1));
  const comments = new Map(ordered.map((file) => [file, commentsOf(file)]));
  return {
    services: ordered.flatMap(({ services }) => services),
    messages: ordered.flatMap(({ messages }) => messages),
    enums: ordered.flatMap(({ enums }) => enums),
    commentOf: (declared) => comments.get(fileOf(declared))?.get(pathOf(declared).join()) ?? '',
  };
}

function buildDescriptors(): Uint8Array {
  const bin = join(ROOT, 'node_modules/.bin');
  // oxlint-disable-next-line node/no-process-env -- the search path of the tool that is started
  const path = `${bin}${delimiter}${process.env['PATH']}`;
  return execFileSync(join(bin, 'buf'), ['build', '--as-file-descriptor-set', '-o', '-#format=binpb'], {
    cwd: join(ROOT, 'packages/api'),
    env: { PATH: path, HOME: tmpdir(), BUF_CACHE_DIR: join(tmpdir(), 'palyra-buf') },
    maxBuffer: 64 * 1024 * 1024,
  });
}

function rankOf({ name }: DescFile): number {
  const at = ORDER.findIndex((word) => name === `palyra/v1/${word}`);
  return at === -1 ? ORDER.length : at;
}

function commentsOf({ proto }: DescFile): ReadonlyMap<string, string> {
  const places = proto.sourceCodeInfo?.location ?? [];
  return new Map(places.map(({ path, leadingComments }) => [path.join(), leadingComments.trim()]));
}

function fileOf(declared: Declared): DescFile {
  if ('parent' in declared && declared.parent !== undefined) return declared.parent.file;
  return 'file' in declared ? declared.file : declared.parent.file;
}

function pathOf(declared: Declared): readonly number[] {
  switch (declared.kind) {
    case 'service':
      return [AT.service, declared.file.services.indexOf(declared)];
    case 'rpc':
      return [...pathOf(declared.parent), AT.method, declared.parent.methods.indexOf(declared)];
    case 'message':
      return [AT.message, declared.file.messages.indexOf(declared)];
    case 'field':
      return [...pathOf(declared.parent), AT.field, declared.parent.fields.indexOf(declared)];
    case 'enum':
      return [AT.enum, declared.file.enums.indexOf(declared)];
    case 'enum_value':
      return [...pathOf(declared.parent), AT.value, declared.parent.values.indexOf(declared)];
  }
}
