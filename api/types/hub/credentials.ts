/** What a request shows of who sends it. */
export interface HubCredentials {
  /** The header `Authorization`; undefined = not sent. */
  authorization: string | undefined;
  /** Where the request comes from. */
  address: string;
}
