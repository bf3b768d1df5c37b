# Commonplace in a container: docs/docker.md says how to use it. Nothing gets in but what .dockerignore lets through.
#
#   PYTHON_IMAGE  the base of both stages; with @sha256:… behind the tag, two builds have the same one
#   LOCAL         "true" for models that run on this machine: compiles llama.cpp, two to four minutes
#   MCP           "true" for other programs that use the memory: its library, 30 MB
#   POSTGRES      "true" for an index on PostgreSQL: its library, 15 MB
#   CMAKE_ARGS    for llama.cpp; -DGGML_NATIVE=OFF where the image is to run on other processors than this one
ARG PYTHON_IMAGE=python:3.13-slim-trixie

# --- Made here, with pip and, where it is asked for, a compiler; neither is in the image. ---

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /build
RUN python -m venv --without-pip /opt/commonplace

COPY requirements/runtime.txt requirements/
RUN python -m pip --python /opt/commonplace install --quiet --no-cache-dir --no-compile --no-deps \
        --require-hashes -r requirements/runtime.txt

# OpenMP comes along with the library: the image has no package for it.
ARG LOCAL=false
ARG CMAKE_ARGS=
COPY requirements/local.txt requirements/local-build.txt requirements/llama_cpp.cmake requirements/
# hadolint ignore=DL3008
RUN if [ "$LOCAL" = true ]; then \
        apt-get update -qq \
        && apt-get install -qq -y --no-install-recommends g++ >/dev/null \
        && python -m pip install --quiet --no-cache-dir --no-deps --require-hashes \
            --target local-build -r requirements/local-build.txt \
        && PATH="/build/local-build/bin:$PATH" PYTHONPATH=/build/local-build \
            CMAKE_ARGS="-DCMAKE_PROJECT_llama_cpp_INCLUDE=/build/requirements/llama_cpp.cmake $CMAKE_ARGS" \
            /opt/commonplace/bin/python -m pip install --quiet --no-cache-dir --no-compile --no-deps \
            --no-build-isolation --require-hashes -r requirements/local.txt \
        && cp -L /usr/lib/*-linux-gnu/libgomp.so.1 /opt/commonplace/lib/python3*/site-packages/llama_cpp/lib/ \
        && rm -rf local-build /var/lib/apt/lists/*; \
    elif [ "$LOCAL" != false ]; then \
        echo "LOCAL is $LOCAL; it must be true or false" >&2; exit 1; \
    fi

ARG MCP=false
COPY requirements/mcp.txt requirements/
RUN if [ "$MCP" = true ]; then \
        python -m pip --python /opt/commonplace install --quiet --no-cache-dir --no-compile --no-deps \
            --require-hashes -r requirements/mcp.txt; \
    elif [ "$MCP" != false ]; then \
        echo "MCP is $MCP; it must be true or false" >&2; exit 1; \
    fi

ARG POSTGRES=false
COPY requirements/postgres.txt requirements/
RUN if [ "$POSTGRES" = true ]; then \
        python -m pip --python /opt/commonplace install --quiet --no-cache-dir --no-compile --no-deps \
            --require-hashes -r requirements/postgres.txt; \
    elif [ "$POSTGRES" != false ]; then \
        echo "POSTGRES is $POSTGRES; it must be true or false" >&2; exit 1; \
    fi

COPY requirements/build.txt requirements/
RUN python -m pip install --quiet --no-cache-dir --no-deps --require-hashes \
        --target project-build -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY adapters adapters
COPY bot bot
COPY memory memory
RUN PYTHONPATH=/build/project-build python -m pip --python /opt/commonplace install --quiet --no-cache-dir \
        --no-compile --no-deps --no-build-isolation .

# What nobody imports goes: tests, what is for compilers and for Windows, and what llama.cpp has installed a second and a
# third time. Of the rest the bytecode comes along, since the image cannot write it later.
RUN site=$(echo /opt/commonplace/lib/python3*/site-packages) \
    && find "$site" -depth \
        \( -type d \( -name tests -o -name test \) \
        -o -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.[ach]' -o -name '*.dll' \) \) \
        -exec rm -rf {} + \
    && rm -rf "${site:?}/bin" "${site:?}/include" "${site:?}/lib" "$site"/llama_cpp/lib/*.so.*.* \
    && for library in "$site"/llama_cpp/lib/*.so.0; do \
        [ ! -e "$library" ] || ln -sf "$(basename "$library" .0)" "$library"; \
    done \
    && /opt/commonplace/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/commonplace/lib

# --- The image. ---

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="Commonplace" \
      org.opencontainers.image.description="A self-hosted personal assistant whose memory is a folder of Markdown" \
      org.opencontainers.image.licenses="MIT"

# Python's image has no bytecode of Python's own modules: each start would compile them anew, for a second and more.
# The folders are for whatever user the container runs as: a new volume takes their mode after them.
RUN python -m compileall -q -j 0 --invalidation-mode unchecked-hash \
        -x '/(site-packages|dist-packages|idlelib|tkinter|turtledemo|ensurepip|lib2to3|pydoc_data|config-[^/]*)/' \
        "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
    && install -d /config /workspace \
    && install -d -m 1777 /models /workspace/memory /workspace/.commonplace
COPY docker/commonplace /usr/local/bin/
COPY --from=build /opt/commonplace /opt/commonplace

# SQLite's temporary files are as large as a database: /tmp is too small for them, where it is in memory.
ENV HOME=/tmp \
    SQLITE_TMPDIR=/workspace/.commonplace \
    PYTHONDONTWRITEBYTECODE=1 \
    COMMONPLACE_WORKSPACE=/workspace \
    COMMONPLACE_SERVER__PORT=8321 \
    COMMONPLACE_MEMORY__EMBEDDING__LOCAL__CACHE_DIR=/models
# The settings are config.toml in this folder, where there is one.
WORKDIR /config
USER 1000:1000
VOLUME ["/workspace/memory", "/workspace/.commonplace", "/models"]
EXPOSE 8321
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["/opt/commonplace/bin/python", "-I", "-m", "bot.healthcheck"]
ENTRYPOINT ["commonplace"]
CMD ["run"]
