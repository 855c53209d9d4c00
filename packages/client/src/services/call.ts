import { translateError } from '../connection/translate-error.ts';

/** One unary call, its errors as those of the SDK. */
export async function ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (thrown) {
    throw translateError(thrown);
  }
}

export interface PageOf<Item> {
  readonly items: readonly Item[];
  /** Empty: there is no other page. */
  readonly nextPageToken: string;
}

/** Page after page, until there are enough or no more. */
export async function collect<Item>(
  page: (pageToken: string, limit: number) => Promise<PageOf<Item>>,
  limit: number = Number.POSITIVE_INFINITY,
): Promise<readonly Item[]> {
  const found: Item[] = [];
  let token = '';
  do {
    const { items, nextPageToken } = await ask(page(token, Math.min(PAGE, limit - found.length)));
    found.push(...items);
    token = nextPageToken;
  } while (token !== '' && found.length < limit);
  return found;
}

const PAGE = 200;
