/** The bounds of the hub: a part of {@link limits}, where all others are. */
export const hubLimits = {
  /** Connections of the hub: nodes and people of some hundreds of hosts. */
  hubConnectionsMax: 4_096,
  /** A record of the hub: a store of the managers takes 1.4 MB in one update. */
  hubRecordBytesMax: 1_000_000,
  /** Records of one answer. */
  hubPageRecords: 1_000,
  /** Updates that are remembered for watches that begin after their list was read. */
  hubUpdatesRemembered: 1_024,
  /** Times that a change of a record is decided anew because another one came first; then its client may try again. */
  hubUpdateAttempts: 100,
  /** Time for a host of the hub to hear what was written, and until records that could not be read are read again. */
  hubCatchUpMs: 1_000,
  hubRelistMs: 1_000,
  /** Callers whose requests are counted, 100 bytes each; past that those go whose windows end first. */
  hubLimitedCallersMax: 100_000,
  /** Installations whose limits are known for a minute. */
  hubQuotasRemembered: 10_000,
  /** How often what was counted is written down, and how many records go in one update of it. */
  hubLimitsKeptMs: 1_000,
  hubChangesAtOnce: 100,
  /** How long a hub that ends waits for the last of it to be written. */
  hubLimitsLastMs: 1_000,
  /** How far the clocks of managers may differ; how long what a manager counted stays that does not take it away. */
  hubClockSkewMs: 60_000,
  hubGoneHostMs: 3_600_000,
  /** How long requests wait while the records go to another place; and until a move that failed is tried again. */
  hubPlaceWaitMs: 10_000,
  hubPlaceRetryMs: 1_000,
  /** What managers of a swarm keep of deliveries in their store: of one hook, of all, and of what one sent and got. */
  hubSharedDeliveriesOfHookMax: 200,
  hubSharedDeliveriesBytesMax: 32_000_000,
  hubSharedBodyBytesMax: 256_000,
  /** What a client is told to wait that came while no hub was there. */
  hubAwayRetryAfterS: 5,
  /** Names of accounts in a message. */
  hubNamesSaid: 10,
  /** Accounts that come back in the update that takes their names; those of more come in later ones. */
  hubRestoredAtOnce: 90,
  /** What a client is told to wait that has too many requests under way (GitHub: at least a minute). */
  hubRetryAfterS: 60,
  /** Characters of names of accounts and repositories (as GitHub), and of what people write beside them. */
  hubAccountNameMax: 39,
  hubRepositoryNameMax: 100,
  hubDescriptionMax: 350,
  hubEmailMax: 254,
  /** Users with a part in one repository beside its organization: they go with it in one update. */
  hubCollaboratorsMax: 100,
  /** A password for the pages: longer ones only serve to keep the processor busy. */
  hubPasswordMin: 8,
  hubPasswordBytesMax: 1_024,
  /** Memberships that go in one update with an account; the others lead to nobody. */
  hubMembershipsRemovedAtOnce: 100,
  /** Tokens of one user: every one is looked at when they are listed. */
  hubTokensOfUserMax: 1_000,
  hubNoteMax: 256,
  /** An app: GitHub's longest name, and keys enough to change them one after another. */
  hubAppNameMax: 34,
  hubUrlMax: 2_048,
  hubAppKeysMax: 10,
  /** Installations of an app: they go with it in one update. */
  hubInstallationsOfAppMax: 100,
  /** Living tokens of one installation: each is a record, and one is enough for an hour. */
  hubInstallationTokensMax: 500,
  hubInstallationTokenMs: 3_600_000,
  /** Repositories that a token of an installation can be narrowed to (GitHub). */
  hubTokenRepositoriesMax: 500,
  /** Tokens that an application has for one user (GitHub): another one ends the oldest. */
  hubTokensOfGrantMax: 10,
  hubAppUserTokenMs: 28_800_000,
  /** How long an app says that what it signed is good (GitHub), and how far its clock may be off. */
  hubAppJwtMs: 600_000,
  hubAppClockSkewMs: 60_000,
  /** Living tokens of one task. */
  hubTokensOfTaskMax: 10,
  /** Of the file system in memory that holds a container's token: one page for the file, one for its directory. */
  hubTokenFileBytes: 16 * 1024,
  /** How long an address serves at which a token is authorized for an organization (seed 001). */
  hubSignOnLinkMs: 3_600_000,
  /** Characters of names of OAuth applications and service tokens, and how many an organization may have of each. */
  hubOAuthNameMax: 100,
  hubOAuthApplicationsMax: 100,
  hubServiceTokensMax: 100,
  /** An application's image, which is a record. */
  hubAvatarBytesMax: 65_536,
  /** What an application sends with a user and gets back. */
  hubOAuthStateMax: 2_048,
  /** Organizations, repositories and tags that one authorization names: they stand in each of its tokens. */
  hubGrantResourcesMax: 200,
  /** How long a code is good (RFC 6749, 4.1.2: ten minutes at most), a token, and a refresh token that is not used. */
  hubOAuthCodeMs: 600_000,
  hubGrantTokenMs: 30 * 86_400_000,
  hubRefreshTokenMs: 180 * 86_400_000,
  /** How long a refresh token may be sent a second time: a client whose answer was lost tries again at once. */
  hubRefreshAgainMs: 10_000,
  /** Used refresh tokens of one authorization that are known again: with older ones nothing ends. */
  hubUsedRefreshTokensMax: 100,
  /** How long somebody stays signed in, how old the secret of a cookie gets, and how long the one before serves on. */
  hubSignInMs: 604_800_000,
  hubSignInRenewMs: 3_600_000,
  hubSignInGraceMs: 60_000,
  hubSignInsOfUserMax: 20,
  /** A form of the pages: names, and what somebody wrote. */
  hubFormBytesMax: 65_536,
  /** How often tokens are removed that are over or lead to nobody. */
  hubSweepMs: 60_000,
  /**
   * Records of who did what: how many are kept and for how long, how many come before the oldest of too many go at
   * once, how often they go by themselves, and of how far back they are told again after a start.
   */
  hubAuditMax: 10_000,
  hubAuditDays: 90,
  hubAuditSlack: 1_000,
  hubAuditSweepMs: 600_000,
  hubAuditToldAgainMs: 600_000,
  /** Those that the engine tells of: in which time they gather, and how many may wait. */
  hubAuditPaceMs: 100,
  hubAuditWaitingMax: 2_000,
  /** How often a token's last use is written down. */
  hubLastUseMs: 60_000,
  /** Wrong credentials of one user or address within this time, and for how long none of theirs is looked at then. */
  hubBadCredentialsMax: 10,
  hubBadCredentialsWithinMs: 300_000,
  hubLockoutMs: 300_000,
  /** Users and addresses whose wrong credentials are counted; past that the oldest are forgotten. */
  hubLockoutsRemembered: 10_000,
  /** Webhooks of one repository for one event (GitHub: 20), and in all: they go with it in one update. */
  hubHooksOfEventMax: 20,
  hubHooksOfRepositoryMax: 60,
  hubHookUrlMax: 2_048,
  hubHookSecretBytesMax: 1_024,
  /** A payload that is larger is not delivered (GitHub: 25 MB). */
  hubPayloadBytesMax: 25_000_000,
  /** In all, from the name's look-up to the end of the answer (GitHub: 10 s). */
  hubDeliveryMs: 10_000,
  /** Deliveries under way: a slow receiver has a share of them and the other ones have the rest. */
  hubDeliveriesAtOnce: 128,
  hubDeliveriesOfHostAtOnce: 32,
  /** Deliveries of one hook that are made one after the other before what came of them is told, and for how long. */
  hubDeliveriesTogether: 16,
  hubDeliveriesTogetherMs: 50,
  /** Of the thread that makes deliveries: its young memory, and occurrences whose payloads it knows. */
  hubDeliveriesYoungMbMax: 16,
  hubOccurrencesKnown: 256,
  /** Deliveries of one hook that wait for their turn; past that new ones are not made, and logged. */
  hubIntentsOfHookMax: 10_000,
  /** Deliveries that wait in all, 1 KB of memory each: past that a hook with more than its share gets no more. */
  hubIntentsMax: 100_000,
  hubIntentsOfHookShare: 100,
  /** Addresses of receivers of which is known whether deliveries may go there. */
  hubAddressesJudged: 1_000,
  /** Of an answer's headers, and what is kept of its body. */
  hubResponseHeaderBytesMax: 16_384,
  hubResponseBytesKept: 65_536,
  /** How long deliveries that were made wait for others to be written down with, and how many at most. */
  hubDeliveriesKeptMs: 20,
  hubDeliveriesKeptAtOnce: 200,
  /** Until deliveries that could not be written down are tried again. */
  hubDeliveriesRetryMs: 1_000,
  /** What was delivered is kept for 30 days (seed 001), but no more than this of one hook and of all. */
  hubDeliveriesDays: 30,
  hubDeliveriesOfHookMax: 10_000,
  hubDeliveriesBytesMax: 500_000_000,
  hubDeliveriesPruneMs: 600_000,
  hubDeliveriesPrunedAtOnce: 1_000,
  /** Characters of a name in the registry (docker's own bound), and of a text of a client that an error repeats. */
  hubRegistryNameMax: 255,
  /** A manifest (OCI distribution: registries should take 4 MB), what it lists, and its annotations or labels. */
  hubManifestBytesMax: 4 * 1024 * 1024,
  hubManifestPartsMax: 1_000,
  /** What an index that is deleted may take along, and bytes of that in one update: the rest stays, or comes next. */
  hubLeftoversMax: 10_000,
  hubRemovalsBytesMax: 500_000,
  hubAnnotationsBytesMax: 64 * 1024,
  hubMediaTypeMax: 255,
  /** A configuration whose labels are read: real ones have some KB. */
  hubConfigBytesMax: 1024 * 1024,
  /** Manifests that are kept in memory, in bytes of all of them. */
  hubManifestCacheBytes: 16 * 1024 * 1024,
  /** Uploads that are under way in one repository: docker makes five at a time. */
  hubUploadsOfRepositoryMax: 100,
  /** Time after which an upload is given up to which nothing was added, and a blob that no manifest came to name. */
  hubUploadIdleMs: 24 * 3_600_000,
  hubBlobGraceMs: 24 * 3_600_000,
  /** Time after which an upload to which nothing was added gives way to others, where a quota has no room for both. */
  hubUploadLeftMs: 10_000,
  /** How long a blob stays that a push was told of and another one has named meanwhile. */
  hubBlobToldMs: 3_600_000,
  /** How often what nobody needs is collected, and how soon after something was deleted. */
  hubCollectMs: 3_600_000,
  hubCollectSoonMs: 2_000,
  /** How long the tar of a layer of the engine's is kept after its last reader. */
  hubReplayKeptMs: 3_000,
  /** How long other managers are asked whether they hold a blob. */
  hubPeerMs: 5_000,
  /** How long a blob that another manager's push waits for stays here without a record that names it. */
  hubPromisedMs: 600_000,
  /** How long a manager that did not take a blob is asked after the others. */
  hubPeerFailedMs: 30_000,
  /** How long a manager must not have answered before what it held is copied to others. */
  hubPeerLostMs: 600_000,
  /**
   * How often managers are looked at that may be lost; when all copies are looked at again, and when some lack still.
   * Between two blobs: a pause, and a longer one for copies, which take no more than this of a network.
   */
  hubRepairLookMs: 5_000,
  hubRepairAllMs: 3_600_000,
  hubRepairRetryMs: 20_000,
  hubRepairPauseMs: 10,
  hubRepairBytesPerSecond: 50_000_000,
  /** A piece of a blob that is sent, of which an answer has two at most; and how many are kept for the next answers. */
  hubSentPieceBytes: 256 * 1024,
  hubSentPiecesSpare: 64,
  /** How long a host that leaves hands over what it alone holds, and when a worker tries again. */
  hubHandOverMs: 1_800_000,
  hubHandOverRetryMs: 10_000,
  /** Tags and repositories of one answer of the registry. */
  hubRegistryPageMax: 1_000,
  /** How long an access token of the registry is good: a push of a day's length asks for the next ones. */
  hubAccessTokenS: 300,
  /** Scopes of one token: docker asks for those of two repositories. */
  hubScopesMax: 20,
  /** Time in which a client that uploads must send something. */
  hubUploadStallMs: 60_000,
  /** A note: Markdown that people write, and its metadata. */
  hubNoteBytesMax: 128 * 1024,
  hubNoteFrontMatterBytesMax: 16 * 1024,
  /** Levels that front matter may nest: the parser calls itself for each. The schema has three. */
  hubNoteDepthMax: 100,
  /** Values that aliases of YAML stand for, all together: ten lines of them can stand for gigabytes. */
  hubNoteAliasesMax: 20,
  /** What is wrong with one note and is told, and characters of what it is that are. */
  hubNoteProblemsMax: 100,
  hubNoteShownMax: 120,
  /** Characters of a note's title, and of its text in which it is looked for. */
  hubNoteTitleMax: 200,
  hubNoteTitleSearched: 4_096,
  /** Characters of Markdown that are made HTML for a page: longer ones are shown as they are. */
  hubNoteRenderedMax: 32 * 1024,
  /** A body that is a note: as JSON its Markdown may take twice its bytes. */
  hubNoteBodyBytesMax: 2 * (128 + 16) * 1024,
  /** Values in it: parsing it must hold up nobody. */
  hubNoteValuesMax: 5_000,
  /** Time and memory that reading or rendering one note may take on its thread: usual ones take some milliseconds. */
  hubNoteWorkMs: 1_000,
  hubNoteThreadMbMax: 64,
  /** Notes that wait for that thread. */
  hubNotesWaitingMax: 100,
  /** Notes of one repository: all are looked through when one is found by its id. */
  hubNotesOfRepositoryMax: 1_000,
  /** Words of a search, characters of all of them, and what is found at most. */
  hubSearchWordsMax: 20,
  hubSearchLengthMax: 256,
  hubSearchFoundMax: 1_000,
} as const;
