//! Which paths are generated, vendored, tests or prose, by convention.

use std::sync::OnceLock;

pub use globset::GlobSet;
use globset::{Glob, GlobSetBuilder};

/// Paths by the folders they lie in, and by globs. Names of folders need no compiling, which is a tenth
/// of what a short review takes.
struct Paths {
    /// Names of folders, anywhere on the way to the file, with spaces between them.
    folders: &'static str,
    globs: &'static [&'static str],
}

impl Paths {
    const fn like(globs: &'static [&'static str]) -> Self {
        Self { folders: "", globs }
    }

    fn hold(&self, path: &str, compiled: &OnceLock<GlobSet>) -> bool {
        let mut folders = path.split('/').rev().skip(1);
        folders.any(|folder| lists(self.folders, folder))
            || compiled.get_or_init(|| compile(self.globs).unwrap_or_default()).is_match(path)
    }
}

/// Whether one of these names, with spaces between them, is this one.
fn lists(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|listed| listed == name)
}

const VENDORED: Paths = Paths {
    folders: "node_modules vendor third_party thirdparty third-party 3rdparty 3rd-party 3rd_party \
              vendors bower_components .yarn Godeps site-packages Pods jspm_packages _vendor _vendored \
              vendored externals pear PEAR JsLibraries jslibs ezc",
    globs: &[
        // Of C, Erlang and Elixir.
        "/deps/*/**",
        "**/{assets,inc,js,javascripts,lib,libs,public,static}/**/{ckeditor,codemirror,fckeditor,htmlpurifier,tiny_mce,tinymce}/**",
        "**/{tiny_mce,tinymce}/{langs,plugins,skins,themes,utils}/**",
        "**/{pdfjs,pdf.js}/{build,web}/**",
        "**/{static,public,wwwroot,webapp}/**/{lib,libs}/**/*.{js,css}",
        "**/{jquery,*.jquery}.*.js",
        "**/{jquery,bootstrap}-*.js",
        // A library with its version in its name.
        "**/*[.-][0-9]*.[0-9]*.[0-9]*.js",
        // An unpacked release.
        "**/*-[0-9]*.[0-9]*.[0-9]*/**",
        "**/{adodb,ckeditor,fckeditor,tiny_mce,tinymce,TinyMce,xinha,yui}*/**",
        "**/tiny_mce*.js",
        "**/{Chart,chart,handlebars,knockout,modernizr,mustache,pako,raphael,swagger,three}.js",
        "**/{jquery,bootstrap,underscore,backbone,angular,lodash,moment,select2,d3}.js",
        "**/{jquery,bootstrap,underscore,backbone,angular,lodash,moment,select2,d3}[-.][0-9]*.js",
    ],
};

/// Packages of Python that a program carries along, and the folders in which it does.
const PACKAGES: &str = "Cheetah appdirs backports bs4 certifi cffi chardet charset_normalizer cheroot \
                        cherrypy cloudinary configobj dateutil docutils feedparser guessit hachoir html5lib \
                        httplib2 idna importlib_metadata ipwhois jaraco jinja2 jwt mako markupsafe \
                        musicbrainzngs mutagen oauthlib paho passlib pkg_resources psutil pyasn1 pygments \
                        pyparsing pytz requests requests_oauthlib setuptools simplejson six soupsieve \
                        sqlalchemy tempora tornado tzlocal unidecode urllib3 webencodings werkzeug xmltodict \
                        zipp";
const CARRIED_IN: &str = "ext extern external lib libs";

const GENERATED: Paths = Paths {
    folders: "dist __generated__ __snapshots__",
    globs: &[
        "**/*.min.js",
        "**/*.min.css",
        "**/*-min.{js,css}",
        "**/*.bundle.js",
        "**/*[_-]packaged.js",
        "**/*.map",
        "**/*.pb.go",
        "**/*_pb2.py",
        "**/*_pb2.pyi",
        "**/*_pb2_grpc.py",
        "**/*.pb.cc",
        "**/*.pb.h",
        "**/*.generated.*",
        "**/*_generated.*",
        "**/*.g.dart",
        "**/*.designer.cs",
        "**/*.snap",
        "**/zz_generated*",
        "**/bindata.go",
        "**/*.lock",
        "**/package-lock.json",
        "**/npm-shrinkwrap.json",
        "**/pnpm-lock.yaml",
        "**/go.sum",
        "**/mocks/mock_*.go",
        "**/*_mock.go",
        "**/*.ipynb",
    ],
};

const TESTS: Paths = Paths {
    folders: "test tests Test Tests unittest unittests unit_tests unit-tests testsuite testsuites \
              smokes fuzz fuzzing cypress playwright cassettes vcr vcr_cassettes mocks __mocks__ \
              mirage stories testing testdata test_data test-data __tests__ spec specs fixtures e2e \
              examples example _examples docs doc benchmark benchmarks benches __test__ buildscripts \
              build-scripts .dev dev_env dev-env devenv .devcontainer ci-config samples sample \
              semgrep-rules semgrep_rules documentation itest itests sbt-test smoke-test smoke-tests \
              local-dev PoC",
    globs: &[
        "**/t/{unit,integration}/**",
        "**/*{-,_}{itests,tests}/**",
        "**/*-{e2e,integration-test,smoke-test}/**",
        "**/*{testsupport,testutil,testutils,testhelpers}/**",
        "**/*test{-,_}{support,util,utils,helpers}/**",
        "**/{integration,functional}/{certs,fixtures,resources}/**",
        "**/*.stories.*",
        "**/*_test.*",
        "**/*_tests.*",
        "**/test_*.*",
        "**/*.test.*",
        "**/*.spec.*",
        "**/*Test.{java,kt,cs,php,swift,scala}",
        "**/*{Spec,Suite}.scala",
        "**/*Tests.{java,kt,cs,php,swift}",
        "**/*{Test,Tests,TestSuite}/**",
        "**/*.{Example,Examples,Sample,Samples}*/**",
        "**/*.{Test,Tests,UnitTests,IntegrationTests,Benchmarks}/**",
        "**/*test/java/**",
        "**/test.{js,ts,py,rb,php}",
        "**/t/*.{crt,key,pem}",
        "**/*-examples/**",
        "**/sample.*",
        "/contrib/**",
        "**/*[dD]ockerfile.{dev,devcontainer,test,tests}",
        "**/conftest.py",
        // What runs on a machine that is thrown away, and events to try a function with.
        "**/.github/scripts/**",
        "**/events/*.json",
        "**/event{,-*,_*}.json",
        "**/tests.py",
        "**/*_{spec,try}.rb",
        "**/tests.rs",
        "**/*demo*/**",
    ],
};

const TOOLING: Paths = Paths {
    folders: "scripts script tools hack playground dev bin ci .ci .github cli migrate migration \
              migrations release extra",
    globs: &[
        "**/gulpfile.*",
        "**/cli.{py,rb,js,ts,go,php}",
        "**/Rakefile",
        "**/setup.py",
        "**/commands/*.py",
        "**/release.*",
        "**/*changelog*.*",
    ],
};

const DATA: Paths = Paths {
    folders: "lang langs language languages locale locales localisation localization i18n l10n \
              translations",
    globs: &[
        "**/*.json",
        "**/*.csv",
        "**/*.tsv",
        "**/*.xml",
        "**/*.po",
        "**/*.strings",
        "**/*.properties",
        "**/*.arb",
        "**/*.resx",
        "**/*.srt",
        "**/*.vtt",
        "**/*.tex",
    ],
};

const TRANSLATION: Paths = Paths::like(&[
    "**/*.{po,pot,resx,xlf,xliff,arb,strings}",
    "**/i18n/**/*.properties",
    "**/{lang,langs,languages,locale,locales,localisation,localization,i18n,l10n,translations}/**/*.{json,yml,yaml}",
    "**/{Languages,Locales,Localisation,Localization,Translations}/**/*.{json,yml,yaml}",
]);

const MARKUP: Paths = Paths::like(&[
    "**/*.{htm,html,xhtml,md,mdx,markdown,rst,adoc,txt}",
    "**/*.{twig,erb,haml,slim,jinja,jinja2,j2,hbs,mustache,liquid,ejs,pug,cshtml,phtml,tpl}",
]);

const MEDIA: Paths = Paths::like(&[
    "**/*.{png,jpg,jpeg,gif,webp,avif,ico,bmp,tif,tiff,psd,svgz,heic}",
    "**/*.{pdf,docx,xlsx,pptx,odt,ods,odp,epub}",
    "**/*.{mp3,mp4,ogg,oga,ogv,webm,wav,flac,mov,avi,mkv}",
    "**/*.{woff,woff2,ttf,otf,eot}",
]);

const PROSE: Paths = Paths::like(&[
    "**/*.md",
    "**/*.markdown",
    "**/*.rst",
    "**/*.txt",
    "**/*.adoc",
    "**/*.po",
    "**/*.pot",
    "**/*.svg",
    "**/*.html",
    "**/*.xliff",
    "**/LICENSE*",
    "**/CHANGELOG*",
]);

const TEST_DATA: Paths = Paths::like(&[
    "**/{testdata,test_data,test-data,fixtures,__fixtures__}/**",
    "**/{test,tests,spec}/data/**",
]);

const NAMED_TESTS: Paths = Paths::like(&["**/test_*.*", "**/*{_test,_tests,.test,.spec,_spec}.*"]);

/// In lower case. `*` stands for folders, too.
const SENSITIVE: Paths = Paths::like(&[
    "**/*{auth,login,signin,signup,passw,credential,session,token,secret}*",
    "**/*{crypt,cipher,saml,jwt,permission,privilege,security,sanitiz,csrf}*",
    "**/*{payment,billing}*",
    "**/.github/workflows/**",
    "**/{dockerfile,containerfile}*",
    "**/*.tf",
]);

/// Compiles globs; a pattern without a slash matches a name in any folder.
///
/// # Errors
/// Names the pattern that is none.
pub fn compile<S: AsRef<str>>(patterns: &[S]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let anywhere = if pattern.contains('/') {
            pattern.trim_start_matches('/').to_owned()
        } else {
            format!("**/{pattern}")
        };
        let anywhere = match anywhere.strip_suffix('/') {
            Some(folder) => format!("{folder}/**"),
            None => anywhere,
        };
        set.add(Glob::new(&anywhere).map_err(|e| format!("`{pattern}`: {}", e.kind()))?);
    }
    set.build().map_err(|e| e.to_string())
}

/// Where a defect opens a door: accounts, keys, money, and what builds and deploys.
pub fn is_sensitive(path: &str) -> bool {
    static SET: OnceLock<GlobSet> = OnceLock::new();
    SENSITIVE.hold(&path.to_ascii_lowercase(), &SET)
}

macro_rules! question {
    ($(#[$doc:meta])* $name:ident, $paths:ident) => {
        $(#[$doc])*
        pub fn $name(path: &str) -> bool {
            static SET: OnceLock<GlobSet> = OnceLock::new();
            $paths.hold(path, &SET)
        }
    };
}

/// Somebody else's code, copied in.
pub fn is_vendored(path: &str) -> bool {
    static SET: OnceLock<GlobSet> = OnceLock::new();
    let parts: Vec<&str> = path.split('/').collect();
    let carried = |pair: &[&str]| {
        lists(CARRIED_IN, pair[0])
            && lists(PACKAGES, pair[1].strip_suffix(".py").unwrap_or(pair[1]))
    };
    parts.windows(2).any(carried) || VENDORED.hold(path, &SET)
}
question! {
    /// Written by a program, by its name.
    is_generated, GENERATED
}
question! {
    /// Tests, examples and their data.
    is_test, TESTS
}
/// Read by tests, and run by nobody: what lies among it and is named like a test is one.
pub fn is_test_data(path: &str) -> bool {
    static DATA: OnceLock<GlobSet> = OnceLock::new();
    static NAMED: OnceLock<GlobSet> = OnceLock::new();
    TEST_DATA.hold(path, &DATA) && !NAMED_TESTS.hold(path, &NAMED)
}
question! {
    /// Run by those who develop it, with values of their own.
    is_tooling, TOOLING
}
question! {
    /// Data rather than a program, often in people's languages.
    is_data, DATA
}
question! {
    /// What is shown to people, in their languages.
    is_translation, TRANSLATION
}
question! {
    /// Pages and the templates of pages.
    is_markup, MARKUP
}
question! {
    /// Pictures, sounds, fonts and documents.
    is_media, MEDIA
}
question! {
    /// Text for people rather than programs.
    is_prose, PROSE
}

/// Whether a text is a workflow of GitHub Actions wherever it lies, as templates of workflows do.
pub fn is_workflow(path: &str, text: &str) -> bool {
    let begins = |word: &str| text.lines().any(|line| line.starts_with(word));
    (path.ends_with(".yml") || path.ends_with(".yaml"))
        && text.contains("runs-on:")
        && begins("jobs:")
        && ["on:", "\"on\":", "'on':"].iter().any(|word| begins(word))
}

/// Whether the head of a text says that a program wrote it.
pub fn says_generated(text: &str) -> bool {
    text.lines().take(20).any(|line| {
        let low = line.to_ascii_lowercase();
        low.contains("@generated")
            || low.contains("do not edit") && low.contains("generated")
            || low.contains("automatically generated by")
            || low.contains("autogenerated file")
            || low.contains("openapi-generator.tech")
            || low.contains("// webpackbootstrap")
    })
}
