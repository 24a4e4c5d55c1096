/** Whether a client takes a media type: by its headers `Accept`, and always where it sends none. Pure. */
export function accepts(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header.trim() === '') {
    return true;
  }
  const [family = ''] = mediaType.split('/');
  return header.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    return !isRefused && (type === mediaType || type === '*/*' || type === `${family}/*`);
  });
}
