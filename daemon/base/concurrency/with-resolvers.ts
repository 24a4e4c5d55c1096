export interface Resolvers<T> {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (reason: Error) => void;
}

/** Promise.withResolvers, which Node.js 20 does not have. */
export function withResolvers<T>(): Resolvers<T> {
  let settle: Omit<Resolvers<T>, 'promise'> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // The executor has run.
  return { promise, ...settle! };
}
